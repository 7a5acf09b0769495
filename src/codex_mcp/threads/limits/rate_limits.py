"""Pure. The rate limits of the account, as Codex reports them with its turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

NEAR: Final = 80
"""Percent of a limit from which on results warn."""

FULL: Final = 100

MINUTES: Final = ((7 * 24 * 60, "week"), (24 * 60, "day"), (60, "hour"))


class Window(Struct, frozen=True, rename="camel"):
    used_percent: float = 0.0
    window_duration_mins: int | None = None
    resets_at: int | None = None
    """Seconds since the epoch."""


class RateLimits(Struct, frozen=True, rename="camel"):
    primary: Window | None = None
    secondary: Window | None = None
    rate_limit_reached_type: str | None = None
    """Why the account refuses requests, if it says so and no window explains it."""

    @property
    def windows(self) -> list[Window]:
        return [window for window in (self.primary, self.secondary) if window is not None]


NONE_KNOWN: Final = RateLimits()


def rate_limits_from(reported: Mapping[str, object]) -> RateLimits:
    """What cannot be read counts as unknown."""
    try:
        return msgspec.convert(reported, RateLimits)
    except msgspec.ValidationError:
        return NONE_KNOWN


def resets_at(limits: RateLimits, now: float) -> int | None:
    """When the account takes requests again: at the end of the last window that is used up. None if unknown."""
    ends = [each.resets_at for each in limits.windows if each.used_percent >= FULL and each.resets_at is not None]
    return max((end for end in ends if end > now), default=None)


def described(limits: RateLimits) -> list[dict[str, object]]:
    return [
        {
            "used_percent": window.used_percent,
            "window_minutes": window.window_duration_mins,
            "resets_at": window.resets_at,
        }
        for window in limits.windows
    ]


def warnings(limits: RateLimits, now: float) -> list[str]:
    """A sentence for each limit that is nearly reached; `now` is in seconds since the epoch."""
    return [
        f"The account has used {window.used_percent:g} % of its rate limit{_period(window)}{_reset(window, now)}."
        for window in limits.windows
        if window.used_percent >= NEAR and not (window.resets_at is not None and window.resets_at <= now)
    ]


def _period(window: Window) -> str:
    minutes = window.window_duration_mins
    if not minutes:
        return ""
    for length, name in MINUTES:
        if minutes % length == 0:
            count = minutes // length
            return f" per {name}" if count == 1 else f" per {count} {name}s"
    return f" per {minutes} minutes"


def _reset(window: Window, now: float) -> str:
    if window.resets_at is None:
        return ""
    minutes = max(1, round((window.resets_at - now) / 60))
    return f"; it is reset in {minutes} min" if minutes < 120 else f"; it is reset in {round(minutes / 60)} h"
