"""Pure. Events about the session: its settings, the start of its MCP servers, and renamed notifications.

mcp_startup_complete summarises the app-server's reports of each server. The notifications in `RENAMED` differ from the
events of 0.153.4 only in their names and in the camelCase of their fields.
"""

from __future__ import annotations

from typing import Final

from codex_mcp.threads.events.spelling import present, snake, snake_keys
from codex_mcp.wire.app.notifications import OtherNotification, ServerStatusUpdated
from codex_mcp.wire.app.requests import Sandbox, ThreadOpened

READ_ONLY: Final = Sandbox("readOnly")

# Folders that Codex keeps read-only inside a writable root.
PROTECTED: Final = (".git", ".agents", ".codex")


def session_configured(opened: ThreadOpened) -> dict[str, object]:
    thread = opened.thread
    return {
        "type": "session_configured",
        "session_id": thread.session_id or thread.id,
        "thread_id": thread.id,
        **present(
            forked_from_id=thread.forked_from_id,
            parent_thread_id=thread.parent_thread_id,
            thread_name=thread.name,
        ),
        "model": opened.model,
        "model_provider_id": opened.model_provider,
        **present(service_tier=opened.service_tier),
        "approval_policy": opened.approval_policy,
        "approvals_reviewer": opened.approvals_reviewer,
        "permission_profile": permission_profile(opened.sandbox or READ_ONLY, opened.cwd),
        "cwd": opened.cwd,
        **present(reasoning_effort=opened.reasoning_effort, rollout_path=thread.path),
    }


def permission_profile(sandbox: Sandbox, cwd: str) -> dict[str, object]:
    """0.153.4's form of the sandbox policy that the app-server reports."""
    network = "enabled" if sandbox.network_access in (True, "enabled") else "restricted"
    match sandbox.type:
        case "dangerFullAccess":
            return {"type": "disabled"}
        case "externalSandbox":
            return {"type": "external", "network": network}
        case "workspaceWrite":
            entries = _writable_entries(sandbox, cwd)
        case _:
            entries = []
    restricted = {"type": "restricted", "entries": [_special("root", "read"), *entries]}
    return {"type": "managed", "file_system": restricted, "network": network}


def _writable_entries(sandbox: Sandbox, cwd: str) -> list[dict[str, object]]:
    roots = [cwd, *(root for root in sandbox.writable_roots if root != cwd)]
    entries = [_path(root, "write") for root in roots]
    if not sandbox.exclude_slash_tmp:
        entries.append(_special("slash_tmp", "write"))
    if not sandbox.exclude_tmpdir_env_var:
        entries.append(_special("tmpdir", "write"))
    for root in roots:
        entries += [{**_path(f"{root}/{name}", "read"), "missing_path_behavior": "skip"} for name in PROTECTED]
    return entries


def _special(kind: str, access: str) -> dict[str, object]:
    return {"path": {"type": "special", "value": {"kind": kind}}, "access": access}


def _path(path: str, access: str) -> dict[str, object]:
    return {"path": {"type": "path", "path": path}, "access": access}


class Startup:
    """The start-up of one thread's MCP servers."""

    def __init__(self) -> None:
        self._servers: dict[str, ServerStatusUpdated] = {}
        self._told = False

    def status(self, note: ServerStatusUpdated) -> list[dict[str, object]]:
        """The change of one server and, once no server is starting any more, the summary."""
        self._servers[note.name] = note
        state = present(state=note.status, error=note.error)
        update: dict[str, object] = {"type": "mcp_startup_update", "server": note.name, "status": state}
        if any(server.status == "starting" for server in self._servers.values()):
            return [update]
        return [update, self._complete()]

    def turn_started(self) -> list[dict[str, object]]:
        """Codex reports its servers before the first turn; without a report there are none."""
        return [] if self._told or self._servers else [self._complete()]

    def _complete(self) -> dict[str, object]:
        self._told = True
        servers = self._servers.values()
        return {
            "type": "mcp_startup_complete",
            "ready": [server.name for server in servers if server.status == "ready"],
            "failed": [
                {"server": server.name, "error": server.error or ""} for server in servers if server.status == "failed"
            ],
            "cancelled": [server.name for server in servers if server.status == "cancelled"],
        }


RENAMED: Final = {
    "warning": "warning",
    "guardianWarning": "guardian_warning",
    "deprecationNotice": "deprecation_notice",
    "model/rerouted": "model_reroute",
    "model/verification": "model_verification",
    "model/safetyBuffering/updated": "safety_buffering",
    "thread/environment/connected": "environment_connected",
    "thread/environment/disconnected": "environment_disconnected",
    "modelProvider/authRecoveryStarted": "auth_recovery_started",
    "modelProvider/authRecoveryCompleted": "auth_recovery_completed",
    "hook/started": "hook_started",
    "hook/completed": "hook_completed",
    "thread/closed": "shutdown_complete",
}

# The values of these fields are names, which were snake_case as well. All other strings are free text.
NAMED_VALUES: Final = frozenset({"event_name", "execution_mode", "handler_type", "scope", "status", "source"})
NAMED_REASON: Final = "model_reroute"


def renamed(note: OtherNotification) -> dict[str, object]:
    """The event has all fields except null values and the ids, which are in the envelope."""
    kind = RENAMED[note.method]
    fields: dict[str, object] = {
        snake(name): snake_keys(value)
        for name, value in note.params.items()
        if name not in {"threadId", "turnId", "type"} and value is not None
    }
    run = fields.get("run")
    if isinstance(run, dict):
        fields["run"] = {name: _named(name, value) for name, value in run.items()}
    if kind == NAMED_REASON:
        fields["reason"] = snake(str(fields.get("reason", "")))
    return {"type": kind, **fields}


def _named(name: str, value: object) -> object:
    return snake(value) if name in NAMED_VALUES and isinstance(value, str) else value
