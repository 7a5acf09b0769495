"""The account that all threads share: whether there is one, its rate limits, and what its tokens cost."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.settings.prices import Price, price_of, prices_from
from codex_mcp.codex.events.translator import Told
from codex_mcp.threads.limits.rate_limits import NONE_KNOWN, rate_limits_from, resets_at, warnings
from codex_mcp.threads.record import USAGE_LIMIT, Outcome, Status
from codex_mcp.wire.app.notifications import RateLimitsUpdated

NOT_SIGNED_IN: Final = (
    "Codex is not signed in. Run `codex-mcp login` with the same CODEX_HOME (with an API key: "
    "`printenv OPENAI_API_KEY | codex-mcp login --with-api-key`), or name a model provider in config.toml, "
    "and call again."
)

TRIAL: Final = 60.0
"""Seconds for the first turn after the end of a limit to show that the account takes requests again."""


class Account:
    def __init__(self, prices: Iterable[str]) -> None:
        self._prices = prices_from(prices)
        self.rate_limits = NONE_KNOWN
        self.paused_until: float | None = None
        """When the account that has reached its limit takes requests again; None if it does, or if that is unknown."""

    def core_told(self, told: Told | None) -> None:
        if isinstance(told, RateLimitsUpdated):
            self.rate_limits = rate_limits_from(told.rate_limits)

    def price(self, model: str) -> Price | None:
        return price_of(self._prices, model)

    def turn_ended(self, outcome: Outcome) -> None:
        """Note that the account has refused a turn, or has not."""
        if outcome.error is not None and outcome.error.code == USAGE_LIMIT:
            self.paused_until = resets_at(self.rate_limits, time.time())
        elif outcome.status is Status.COMPLETED and outcome.usage is not None:
            self.paused_until = None

    def why_not(self, now: float) -> str:
        """Why no turn may begin now; empty if it may."""
        if self.paused_until is None or now >= self.paused_until:
            return ""
        minutes = max(1, round((self.paused_until - now) / 60))
        return f"cannot start a turn: the account has reached its usage limit, which ends in {minutes} min"

    def admit(self, now: float) -> str:
        """The same for a turn that is about to begin. After the limit has ended, one turn tries it alone."""
        why = self.why_not(now)
        if not why and self.paused_until is not None:
            self.paused_until = now + TRIAL
        return why

    def explained(self, outcome: Outcome) -> Outcome:
        """The outcome; of a turn that the account's limit has ended, with what is known of that limit."""
        error = outcome.error
        if error is None or error.code != USAGE_LIMIT:
            return outcome
        kind, end = self.rate_limits.rate_limit_reached_type or "", resets_at(self.rate_limits, time.time())
        return replace(outcome, error=replace(error, kind=kind, resets_at=end))

    def warnings(self) -> list[str]:
        return warnings(self.rate_limits, time.time())
