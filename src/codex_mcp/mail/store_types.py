"""Pure. What the store takes and returns, and the errors that a caller may want to tell apart."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import NotFound, Refused
from codex_mcp.mail.address import Address

LARGEST: Final = 2**20
"""Bytes of a text. atm refuses larger ones too; a file is the better place for them."""

SHOWN_NAMES: Final = 30
"""Names in an error."""


class UnknownRecipient(NotFound):
    """The team has no such agent, or there is no such team."""


class UnknownMessage(NotFound):
    """The inbox has no message with this id."""


class Delivered(Struct, frozen=True):
    """The outcome for one recipient: an id, or an error."""

    to: Address
    id: str | None = None
    error: str | None = None


def check_text(text: str) -> None:
    """Raises Refused if a text cannot be sent. Nothing is ever cut."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise Refused("cannot send the text: it contains half of a surrogate pair; send valid Unicode") from error
    if size > LARGEST:
        raise Refused(
            f"cannot send the text: it has {size} bytes, and {LARGEST} are allowed; put it in a file and send its path"
        )
    if not text.strip():
        raise Refused("cannot send the text: it is empty; write something")


def listed(names: list[str]) -> str:
    """The known names, for an error."""
    shown = ", ".join(names[:SHOWN_NAMES]) or "none"
    return f"{shown} and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else shown
