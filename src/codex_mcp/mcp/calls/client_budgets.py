"""Pure. How long each client lets a call run, and when a call must therefore return `status: running`."""

from __future__ import annotations

from msgspec import Struct

from codex_mcp.base.settings.calls import CallSettings


class Budget(Struct, frozen=True):
    """How long a client lets a call run; None means without limit."""

    with_progress: float | None
    without_progress: float | None


# The limits of the clients were measured with their latest version; a margin is left for the answer to arrive.
UNKNOWN_CLIENT = Budget(with_progress=240, without_progress=45)
"""Cursor and others give up at 300 s, with or without progress. A client that sends no progress token most likely uses
the TypeScript SDK's default of 60 s."""

CLIENT_BUDGETS: dict[str, Budget] = {
    # No limit while there is progress; silent calls over stdio end after 30 minutes.
    "claude-code": Budget(with_progress=None, without_progress=1500),
    # Claude Desktop has been seen to end calls at 60 s and at 240 s.
    "claude-ai": Budget(with_progress=45, without_progress=45),
    # Codex as a client: 300 s (`tool_timeout_sec`), progress or not.
    "codex-mcp-client": Budget(with_progress=240, without_progress=240),
}


def soft_deadline_for(client_name: str, settings: CallSettings, *, has_progress_token: bool) -> float | None:
    """After how many seconds a call of this client returns `status: running`; None means never."""
    if settings.soft_deadline is not None:
        return settings.soft_deadline or None
    budget = CLIENT_BUDGETS.get(client_name.lower(), UNKNOWN_CLIENT)
    return budget.with_progress if has_progress_token else budget.without_progress
