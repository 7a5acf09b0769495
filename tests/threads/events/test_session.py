"""Events about the session: its setup, its MCP servers, and what only changed its name."""

import pytest

from codex_mcp.threads.events.session import RENAMED, Startup, permission_profile, renamed, session_configured
from codex_mcp.wire.app.notifications import OtherNotification, ServerStatusUpdated
from codex_mcp.wire.app.requests import Sandbox, Thread, ThreadOpened

ROOT = {"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"}


def path(name: str, access: str) -> dict[str, object]:
    return {"path": {"type": "path", "path": name}, "access": access}


def special(kind: str) -> dict[str, object]:
    return {"path": {"type": "special", "value": {"kind": kind}}, "access": "write"}


def protected(root: str) -> list[dict[str, object]]:
    return [
        path(f"{root}/{name}", "read") | {"missing_path_behavior": "skip"} for name in (".git", ".agents", ".codex")
    ]


def managed(entries: list[dict[str, object]], network: str = "restricted") -> dict[str, object]:
    return {
        "type": "managed",
        "file_system": {"type": "restricted", "entries": [ROOT, *entries]},
        "network": network,
    }


def test_a_new_session() -> None:
    opened = ThreadOpened(
        thread=Thread("thread-1", path="/home/ada/.codex/sessions/rollout-1.jsonl"),
        model="gpt-5.5",
        model_provider="scripted",
        cwd="/x",
        approval_policy="never",
        approvals_reviewer="user",
        sandbox=Sandbox("readOnly"),
    )
    assert session_configured(opened) == {
        "type": "session_configured",
        "session_id": "thread-1",
        "thread_id": "thread-1",
        "model": "gpt-5.5",
        "model_provider_id": "scripted",
        "approval_policy": "never",
        "approvals_reviewer": "user",
        "permission_profile": managed([]),
        "cwd": "/x",
        "rollout_path": "/home/ada/.codex/sessions/rollout-1.jsonl",
    }


def test_a_fork_with_a_name_and_settings_of_its_own() -> None:
    opened = ThreadOpened(
        thread=Thread("thread-2", "session-1", "thread-1", "thread-0", "Docs"),
        model="gpt-5.5",
        model_provider="scripted",
        cwd="/x",
        approval_policy={"granular": {"rules": True}},
        approvals_reviewer="user",
        sandbox=Sandbox("dangerFullAccess"),
        reasoning_effort="low",
        service_tier="flex",
    )
    own = {"session_id": "session-1", "forked_from_id": "thread-1", "parent_thread_id": "thread-0"}
    own |= {"thread_name": "Docs", "service_tier": "flex", "reasoning_effort": "low"}
    msg = session_configured(opened)
    assert msg.items() >= own.items()
    assert msg["approval_policy"] == {"granular": {"rules": True}}
    assert "rollout_path" not in msg


def test_a_writable_workspace_keeps_its_protected_folders() -> None:
    tmp = [special("slash_tmp"), special("tmpdir")]
    entries = [path("/x", "write"), *tmp, *protected("/x")]
    assert permission_profile(Sandbox("workspaceWrite"), "/x") == managed(entries)


def test_more_roots_less_temporary_space_and_the_network() -> None:
    sandbox = Sandbox(
        "workspaceWrite",
        writable_roots=["/x", "/y"],
        network_access=True,
        exclude_tmpdir_env_var=True,
        exclude_slash_tmp=True,
    )
    entries = [path("/x", "write"), path("/y", "write"), *protected("/x"), *protected("/y")]
    assert permission_profile(sandbox, "/x") == managed(entries, "enabled")


def test_sandboxes_that_codex_does_not_make() -> None:
    assert permission_profile(Sandbox("dangerFullAccess"), "/x") == {"type": "disabled"}
    external = Sandbox("externalSandbox", network_access="enabled")
    assert permission_profile(external, "/x") == {"type": "external", "network": "enabled"}


def test_an_unknown_sandbox_is_taken_for_the_strictest() -> None:
    assert permission_profile(Sandbox("somethingNew"), "/x") == managed([])


NONE = {"type": "mcp_startup_complete", "ready": [], "failed": [], "cancelled": []}


def update(name: str, **status: str) -> dict[str, object]:
    return {"type": "mcp_startup_update", "server": name, "status": status}


def test_without_servers_the_first_turn_says_so_and_the_second_does_not() -> None:
    startup = Startup()
    assert startup.turn_started() == [NONE]
    assert startup.turn_started() == []


def test_the_sum_comes_when_no_server_is_starting_any_more() -> None:
    startup = Startup()
    assert startup.status(ServerStatusUpdated("wiki", "starting")) == [update("wiki", state="starting")]
    assert startup.status(ServerStatusUpdated("mail", "starting")) == [update("mail", state="starting")]
    failed = update("mail", state="failed", error="no such program")
    assert startup.status(ServerStatusUpdated("mail", "failed", "no such program")) == [failed]
    assert startup.turn_started() == []
    assert startup.status(ServerStatusUpdated("wiki", "ready")) == [
        update("wiki", state="ready"),
        NONE | {"ready": ["wiki"], "failed": [{"server": "mail", "error": "no such program"}]},
    ]


def test_a_cancelled_server_counts() -> None:
    startup = Startup()
    complete = startup.status(ServerStatusUpdated("wiki", "cancelled"))[-1]
    assert complete == NONE | {"cancelled": ["wiki"]}


IDS = {"threadId": "thread-1", "turnId": "turn-1"}


@pytest.mark.parametrize(
    ("kind", "params", "fields"),
    [
        ("warning", {"message": "Mind the gap"}, {"message": "Mind the gap"}),
        ("deprecation_notice", {"summary": "old", "details": None}, {"summary": "old"}),
        (
            "model_reroute",
            {"fromModel": "a", "toModel": "b", "reason": "highRiskCyberActivity"},
            {"from_model": "a", "to_model": "b", "reason": "high_risk_cyber_activity"},
        ),
        ("environment_connected", {"environmentId": "local"}, {"environment_id": "local"}),
        (
            "hook_started",
            {"run": {"eventName": "preToolUse", "statusMessage": "camelCase", "durationMs": 1}},
            {"run": {"event_name": "pre_tool_use", "status_message": "camelCase", "duration_ms": 1}},
        ),
        ("shutdown_complete", {}, {}),
    ],
)
def test_the_fields_are_the_same(kind: str, params: dict[str, object], fields: dict[str, object]) -> None:
    [method] = [method for method, name in RENAMED.items() if name == kind]
    assert renamed(OtherNotification(method, {**IDS, **params})) == {"type": kind, **fields}


def test_a_notification_cannot_call_itself_something_else() -> None:
    note = OtherNotification("warning", {"type": "error", "message": "x"})
    assert renamed(note) == {"type": "warning", "message": "x"}
