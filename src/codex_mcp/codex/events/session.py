"""Pure. session_configured out of the answer to thread/start or thread/resume."""

from __future__ import annotations

from typing import Final

from codex_mcp.codex.events.spelling import present
from codex_mcp.wire.app.requests import Sandbox, ThreadOpened

READ_ONLY: Final = Sandbox("readOnly")

# Folders that Codex keeps read-only inside a writable root.
PROTECTED: Final = (".git", ".agents", ".codex")


def session_configured(opened: ThreadOpened) -> dict[str, object]:
    """The first event of a thread."""
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
    """What 0.153.4 called the sandbox; the app-server names the policy that it was made from."""
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
