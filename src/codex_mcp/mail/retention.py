"""Pure. Which messages of an inbox may be removed: an inbox that only grows makes Claude Code slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.mail.message import Message

DAY: Final = 86_400.0

RECENT: Final = 3600.0
"""Seconds in which nothing is removed: the outbox would take a message that is gone for a lost one."""


class Retention(Struct, frozen=True):
    keep: int = 200
    """Read messages that are kept at most."""
    days: float = 30.0
    """Read messages that are older are removed."""


def outdated(messages: Sequence[Message], retention: Retention, now: float) -> list[Message]:
    """Read messages that need no answer and are too old or too many, except recent ones."""
    done = [message for message in messages if message.is_read and not message.is_ack_pending]
    surplus = len(done) - retention.keep
    oldest = now - retention.days * DAY
    return [
        message
        for number, message in enumerate(done)
        if not (message.sent_at is not None and message.sent_at > now - RECENT)
        and (number < surplus or (message.sent_at is not None and message.sent_at < oldest))
    ]
