"""The account that all threads share: whether it takes requests, its rate limits, and what its tokens cost.

the account     a turn is about to begin              a turn hits the limit    the turn that tries uses tokens, or
                                                                               the sign-in changes
--------------  ------------------------------------  -----------------------  -----------------------------------
takes requests  begins                                is limited               no change
is limited      is refused, or waits if it wants to;  is limited, perhaps for  takes requests
                one tries after the limit has ended,  longer
                or if a person says so
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.futures import Waiter, Waiters
from codex_mcp.base.settings.prices import Price, price_of, prices_from
from codex_mcp.codex.core import OpenedThread, ThreadSpec, Told, TurnSpec, WhenLimited
from codex_mcp.threads.limits.rate_limits import NONE_KNOWN, RateLimits, rate_limits_from, resets_at, warnings
from codex_mcp.threads.record import USAGE_LIMIT, Outcome
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.app.notifications import OtherNotification, RateLimitsUpdated

NOT_SIGNED_IN: Final = (
    "Codex is not signed in. Run `codex-mcp login` with the same CODEX_HOME (with an API key: "
    "`printenv OPENAI_API_KEY | codex-mcp login --with-api-key`), or name a model provider in config.toml, "
    "and call again."
)

LIMITED: Final = "cannot start a turn: the account has reached its usage limit, "
ENDS: Final = "which ends in {} min; with `when-limited: wait` a prompt waits for that"
END_UNKNOWN: Final = "and when that ends is not known; a prompt with `when-limited: try` finds out"
TRIES: Final = "and another turn finds out now whether that has ended"

SIGN_IN_CHANGED: Final = "account/updated"


class Paying(Protocol):
    """A thread."""

    spec: ThreadSpec


class Trial(Struct, frozen=True, eq=False):
    """The turn that finds out whether the account takes requests again."""

    thread: Paying
    turn: Turn


class Account:
    def __init__(self, prices: Iterable[str]) -> None:
        self._prices = prices_from(prices)
        self.rate_limits = NONE_KNOWN
        self.is_limited = False
        self.paused_until: float | None = None
        """When the limit ends that it has reached; None if that is unknown."""
        self._trial: Trial | None = None
        self._waiters = Waiters()

    def core_told(self, told: Told | None) -> None:
        if isinstance(told, RateLimitsUpdated):
            self._reported(rate_limits_from(told.rate_limits))
        elif isinstance(told, OtherNotification) and told.method == SIGN_IN_CHANGED:
            self.rate_limits = NONE_KNOWN
            self._opened()

    def _reported(self, limits: RateLimits) -> None:
        """An answer that says nothing of limits, as Codex reports it too, changes nothing of what is known."""
        if limits == NONE_KNOWN:
            return
        self.rate_limits = limits
        if self.is_limited and self.paused_until is None:
            self.paused_until = resets_at(limits, time.time())

    def price(self, turn: TurnSpec, thread: ThreadSpec, opened: OpenedThread) -> Price | None:
        """What the tokens of a turn cost; None if that is not known."""
        if not self._prices:
            return None
        settings = turn.settings
        return price_of(self._prices, (settings and settings.model) or thread.model or opened.model)

    def watch(self, waiter: Waiter) -> None:
        """Resolve this future when it may take requests again, or when the turn that tries has ended."""
        self._waiters.add(waiter)

    def tokens_counted(self) -> None:
        """A turn may have used tokens: if it is the one that tries, the account takes requests."""
        if self._trial is not None and self._trial.turn.record.tokens:
            self._opened()

    def turn_ended(self, thread: Paying, turn: Turn) -> None:
        """Note that the account has refused a turn. If the one that tries has ended, another one may try."""
        error = turn.outcome.error
        if error is not None and error.code == USAGE_LIMIT and turn.record.has_begun:
            self.refused(thread)
        if self._trial is not None and self._trial.turn is turn:
            self._trial = None
            self._waiters.tell()

    def refused(self, thread: Paying) -> None:
        """It has refused a request of this thread, or of a sub-agent there: it has reached its limit."""
        if not _has_other_account(thread):
            self.is_limited, self.paused_until = True, resets_at(self.rate_limits, time.time())

    def _opened(self) -> None:
        self.is_limited, self.paused_until, self._trial = False, None, None
        self._waiters.tell()

    def why_not(self, thread: Paying, now: float) -> str:
        """Why no turn of this thread may begin now; empty if it may."""
        is_trial = self._trial is not None and self._trial.thread is thread
        if not self.is_limited or is_trial or _has_other_account(thread):
            return ""
        end = self.paused_until
        if end is None:
            return LIMITED + END_UNKNOWN
        if now < end:
            return LIMITED + ENDS.format(max(1, round((end - now) / 60)))
        return "" if self._trial is None else LIMITED + TRIES

    def admit(self, thread: Paying, turn: Turn, now: float) -> str:
        """The same for a turn that is about to begin. After the limit has ended, or if its caller says so, it tries."""
        why = "" if turn.spec.when_limited is WhenLimited.TRY else self.why_not(thread, now)
        if self.is_limited and not why and not _has_other_account(thread):
            self._trial = Trial(thread, turn)
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


def _has_other_account(thread: Paying) -> bool:
    """It has a provider of its own."""
    return any(key.startswith("model_provider") for key in thread.spec.config)
