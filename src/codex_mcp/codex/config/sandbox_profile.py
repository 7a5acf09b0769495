"""Pure. The permission profile that allows what a sandbox policy allows, with further entries for single paths.

A sandbox policy of the app-server cannot treat a single file in its own way; a permission profile can. Measured with
0.163.0 only: this profile protects `.git`, `.agents` and `.codex` and closes the network as the policy does.

    read    a path in a writable folder: EROFS on write, EBUSY on unlink and rename
    write   a further writable path
    deny    nothing below the path can be read. Codex then reads its own files (AGENTS.md, skills) through a sandboxed
            helper, so that a thread takes about ten times as long to start: deny only where it is worth that

Every path must exist: Codex creates a missing one in a writable folder, and fails in one that is read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OURS: Final = "codex-mcp"
"""The name of the profile in a thread's configuration."""

TABLE: Final = f"permissions.{OURS}"

READ: Final = "read"
WRITE: Final = "write"
DENY: Final = "deny"

WORKSPACE: Final = "workspaceWrite"


def profile_of(policy: Mapping[str, object], entries: Mapping[str, str]) -> dict[str, object]:
    """The profile for `workspaceWrite` or `readOnly`, as the app-server spells them, with `entries`: path → access.

    Entries that let a thread write name its whole workspace. Its folder, which Codex would otherwise add after
    following links, then adds nothing.
    """
    files: dict[str, object] = {":root": READ}
    if policy.get("type") == WORKSPACE:
        if WRITE not in entries.values():
            files[":workspace_roots"] = WRITE
        if policy.get("excludeSlashTmp") is not True:
            files[":slash_tmp"] = WRITE
        if policy.get("excludeTmpdirEnvVar") is not True:
            files[":tmpdir"] = WRITE
        roots = policy.get("writableRoots")
        if isinstance(roots, list | tuple):
            files |= {str(root): WRITE for root in roots}
    return {"filesystem": {**files, **entries}, "network": {"enabled": policy.get("networkAccess") is True}}
