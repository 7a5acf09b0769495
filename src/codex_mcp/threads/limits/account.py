"""The account that all threads share: whether there is one, its rate limits, and what its tokens cost."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from codex_mcp.base.settings.prices import Price, price_of, prices_from
from codex_mcp.codex.events.translator import Told
from codex_mcp.threads.limits.rate_limits import NONE_KNOWN, rate_limits_from, warnings
from codex_mcp.wire.app.notifications import RateLimitsUpdated

NOT_SIGNED_IN: Final = (
    "Codex is not signed in. Run `codex-mcp login` with the same CODEX_HOME (with an API key: "
    "`printenv OPENAI_API_KEY | codex-mcp login --with-api-key`), or name a model provider in config.toml, "
    "and call again."
)


class Account:
    def __init__(self, prices: Iterable[str]) -> None:
        self._prices = prices_from(prices)
        self.rate_limits = NONE_KNOWN

    def core_told(self, told: Told | None) -> None:
        if isinstance(told, RateLimitsUpdated):
            self.rate_limits = rate_limits_from(told.rate_limits)

    def price(self, model: str) -> Price | None:
        return price_of(self._prices, model)

    def warnings(self) -> list[str]:
        return warnings(self.rate_limits, time.time())
