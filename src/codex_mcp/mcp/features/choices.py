"""Pure. Which of the known values a client is offered for what a person has typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MAX_VALUES: Final = 100
"""The most that MCP allows in one answer."""


def choices(known: Iterable[str], typed: str) -> dict[str, object]:
    """The `completion` of an answer: values that begin with the typed text first, then those that contain it.

    Capitals do not matter. Within both groups the order stays.
    """
    wanted = typed.casefold()
    values = list(dict.fromkeys(known))
    beginning = [value for value in values if value.casefold().startswith(wanted)]
    inside = [value for value in values if wanted in value.casefold() and not value.casefold().startswith(wanted)]
    found = beginning + inside
    return {"values": found[:MAX_VALUES], "total": len(found), "hasMore": len(found) > MAX_VALUES}
