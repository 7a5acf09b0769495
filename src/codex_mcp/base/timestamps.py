"""Pure. Moments as the team's files write them: `2026-11-15T10:00:00.000Z`, to the millisecond, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

LATEST: Final = 253_402_300_799.0
"""The last second of the year 9999, the last one that can be written with four digits."""


def format_timestamp(seconds: float) -> str:
    """Seconds since the epoch as text. What lies before 1970 or after 9999 is written as the nearest moment in it."""
    milliseconds = round(min(max(seconds, 0.0), LATEST) * 1000)
    moment = EPOCH + timedelta(milliseconds=milliseconds)  # strftime takes half as long again
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_timestamp(text: str) -> float:
    """The seconds since the epoch of a moment in ISO 8601; without a zone it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
