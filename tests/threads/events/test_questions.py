"""Questions, as they are announced."""

from codex_mcp.threads.events import questions
from codex_mcp.wire.app.items import CommandAction, CommandExecution
from codex_mcp.wire.app.questions import (
    CommandApproval,
    FileChangeApproval,
    PermissionsApproval,
    ToolCallRequest,
    UserInputRequest,
)

ITEM = CommandExecution("call-1", command="make all", cwd="/x", command_actions=[CommandAction("unknown", "make all")])
ASKED = CommandApproval(
    thread_id="thread-1",
    turn_id="turn-1",
    item_id="call-1",
    started_at_ms=7,
    environment_id="local",
    reason="It writes outside.",
    command="/bin/bash -lc 'make docs'",
    cwd="/home/ada/site",
    command_actions=[CommandAction("unknown", "make docs")],
    proposed_execpolicy_amendment=["make", "docs"],
    available_decisions=["accept", "cancel"],
)


def test_a_command_is_asked_for_with_all_that_is_known() -> None:
    assert questions.exec_approval_request(ASKED, ITEM) == {
        "type": "exec_approval_request",
        "kind": "command",
        "call_id": "call-1",
        "turn_id": "turn-1",
        "environmentId": "local",
        "started_at_ms": 7,
        "command": ["/bin/bash", "-lc", "make docs"],
        "cwd": "/home/ada/site",
        "reason": "It writes outside.",
        "proposed_execpolicy_amendment": ["make", "docs"],
        "available_decisions": ["approved", "abort"],
        "parsed_cmd": [{"type": "unknown", "cmd": "make docs"}],
    }


def test_what_the_question_leaves_out_is_in_the_item() -> None:
    bare = CommandApproval(turn_id="turn-1", item_id="call-1", thread_id="thread-1")
    msg = questions.exec_approval_request(bare, ITEM)
    assert (msg["command"], msg["cwd"]) == (["make", "all"], "/x")
    assert msg["parsed_cmd"] == [{"type": "unknown", "cmd": "make all"}]


def test_a_question_about_an_unknown_item_is_still_asked() -> None:
    bare = CommandApproval(turn_id="turn-1", item_id="call-1", thread_id="thread-1")
    msg = questions.exec_approval_request(bare, CommandExecution("call-1"))
    assert (msg["command"], msg["cwd"], msg["parsed_cmd"]) == ([], "", [])


def test_a_patch_is_asked_for() -> None:
    asked = FileChangeApproval("turn-1", "call-2", 7, reason="outside", grant_root="/x", thread_id="thread-1")
    assert questions.apply_patch_approval_request(asked, {"/x/a": {"type": "add", "content": ""}}) == {
        "type": "apply_patch_approval_request",
        "call_id": "call-2",
        "turn_id": "turn-1",
        "started_at_ms": 7,
        "changes": {"/x/a": {"type": "add", "content": ""}},
        "reason": "outside",
        "grant_root": "/x",
    }


def test_permissions_are_asked_for() -> None:
    asked = PermissionsApproval(
        "turn-1", "call-3", "/home/ada", {"fileSystem": {"write": ["/x"]}}, 7, thread_id="thread-1"
    )
    assert questions.request_permissions(asked) == {
        "type": "request_permissions",
        "call_id": "call-3",
        "turn_id": "turn-1",
        "started_at_ms": 7,
        "permissions": {"file_system": {"write": ["/x"]}},
        "cwd": "/home/ada",
    }


def test_the_user_is_asked() -> None:
    asked = UserInputRequest(
        "turn-1",
        "call-4",
        [{"id": "q", "isOther": True}],
        is_blocking=False,
        auto_resolution_ms=9,
        thread_id="thread-1",
    )
    assert questions.request_user_input(asked) == {
        "type": "request_user_input",
        "call_id": "call-4",
        "turn_id": "turn-1",
        "questions": [{"id": "q", "isOther": True}],
        "isBlocking": False,
        "autoResolutionMs": 9,
    }


def test_a_tool_of_ours_is_asked_for() -> None:
    asked = ToolCallRequest("turn-1", "call-5", "weather", arguments={"city": "Oslo"}, thread_id="thread-1")
    assert questions.dynamic_tool_call_request(asked, 7) == {
        "type": "dynamic_tool_call_request",
        "callId": "call-5",
        "turnId": "turn-1",
        "startedAtMs": 7,
        "namespace": None,
        "tool": "weather",
        "arguments": {"city": "Oslo"},
    }


def test_an_mcp_server_asks_the_user() -> None:
    form = {"type": "object", "properties": {"pageName": {"type": "string"}}}
    question: dict[str, object] = {"threadId": "thread-1", "turnId": "turn-1", "serverName": "wiki", "mode": "form"}
    question |= {"message": "Which page?", "requestedSchema": form, "_meta": {"codexKind": "x"}}
    assert questions.elicitation_request(question) == {
        "type": "elicitation_request",
        "turn_id": "turn-1",
        "server_name": "wiki",
        "id": "",
        "request": {
            "mode": "form",
            "message": "Which page?",
            "requested_schema": form,
            "_meta": {"codexKind": "x"},
        },
    }


def test_a_question_that_leads_to_an_address_has_an_id() -> None:
    question: dict[str, object] = {"serverName": "wiki", "mode": "url", "url": "https://x", "elicitationId": "e-1"}
    msg = questions.elicitation_request(question)
    assert msg["id"] == "e-1"
    assert msg["request"] == {"mode": "url", "url": "https://x", "elicitation_id": "e-1"}
