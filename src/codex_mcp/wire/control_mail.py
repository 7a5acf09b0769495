"""Pure. What the control socket tells of team mail."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from codex_mcp.base.principals import LOCAL


class LetterFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A message with how far it came. Times are seconds since 1970."""

    key: str
    id: str
    team: str
    to: str
    sender: str
    sender_team: str = ""
    summary: str = ""
    text: str = ""
    is_cut: bool = False
    sent_at: float | None = None
    kind: str = ""
    is_read: bool = False
    is_urgent: bool = False
    is_acknowledged: bool = False
    stage: str = ""
    """`offered`, `started` or `read` if it was delivered to an agent."""
    offers: int = 0
    times: Mapping[str, float] = {}
    why: str = ""
    """Why it waits."""
    agent: str = ""
    """The codex_id of the agent that gets it, if this server runs it."""
    principal: str = LOCAL
    can_be_delivered: bool = False
