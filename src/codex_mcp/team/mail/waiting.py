"""Pure. Why a message has not reached an agent yet, in words for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.mail.delivery.loop_protection import IDLE_NOTICE, MailVerdict

AUTO_MAIL_OFF: Final = "auto_mail is off for it"

HELD: Final[Mapping[MailVerdict, str]] = {
    MailVerdict.TOO_MANY_HOPS: "held back: agents have passed it on too often without a person in between (max_hops)",
    MailVerdict.PAIR_EXHAUSTED: "held back: the two have woken each other 30 times in an hour",
    MailVerdict.AGENT_EXHAUSTED: "held back: mail has woken it 60 times in an hour",
}


class Recipient(Struct, frozen=True, kw_only=True):
    """An agent that runs, as far as its mail is concerned."""

    closing: bool = False
    wants: bool = True
    """It gets its mail as prompts."""
    paused: str = ""
    busy: bool = False


def why_waiting(to: Recipient, kind: str | None, held: MailVerdict | None) -> str:
    """Of an unread message; empty if it is about to be delivered."""
    if to.closing:
        return "it is being closed"
    if not to.wants:
        return AUTO_MAIL_OFF
    if held is not None:
        return HELD.get(held, "held back")
    if to.paused:
        return f"it is paused: {to.paused}"
    if kind == IDLE_NOTICE:
        return "an idle notice goes with the next message"
    return "it is busy" if to.busy else ""
