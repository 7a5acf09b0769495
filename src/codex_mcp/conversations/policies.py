"""Pure. A client's sandbox policy in the app-server's spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from codex_mcp.codex.config.permissions import FULL_ACCESS, READ_ONLY, workspace_policy
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.wire.conversations import SandboxPolicy


def core_policy(given: Mapping[str, object], cwd: str) -> Mapping[str, object]:
    """Roots that are not absolute are below `cwd`. Raises RequestFailed."""
    named = {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower(): value for name, value in given.items()}
    if "mode" not in named and "type" in named:  # as later releases spell it
        named["mode"] = named["type"]
    try:
        policy = msgspec.convert(named, SandboxPolicy)
    except msgspec.ValidationError as exc:
        raise invalid_params(f"sandboxPolicy: {exc}") from exc
    if policy.mode == FULL_ACCESS:
        return {"type": "dangerFullAccess"}
    if policy.mode == READ_ONLY:
        return {"type": "readOnly", "networkAccess": False}
    return workspace_policy(msgspec.structs.asdict(policy), cwd, "~")
