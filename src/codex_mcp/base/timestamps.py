"""Pure. Timestamps in the team's files: `2026-11-15T10:00:00.000Z`, in UTC with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

LATEST: Final = 253_402_300_799.0
"""The last second of the year 9999, the last year with four digits."""


def format_timestamp(seconds: float) -> str:
    """Seconds since the epoch as text, limited to the years 1970 to 9999."""
    milliseconds = round(min(max(seconds, 0.0), LATEST) * 1000)
    moment = EPOCH + timedelta(milliseconds=milliseconds)  # strftime takes 50 % longer
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_timestamp(text: str) -> float:
    """Seconds since the epoch of an ISO 8601 timestamp; without a time zone it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
