"""Pure. How often an address may show a token that is not valid, before it has to wait.

An address that guesses gets two tokens checked each second, after a burst. Beyond that its tokens are not looked at,
except those that were valid before: a client that shares the address and is in already is not locked out.
"""

from __future__ import annotations

from typing import Final

from codex_mcp.mcp.http.access.rates import Rates

PER_SECOND: Final = 2.0
BURST: Final = 20.0
"""A person who mistypes and a client that retries with an old token stay below it."""

LOG_INTERVAL: Final = 60.0
"""Seconds between two lines of the log about one address."""


class FailedLogins:
    """The addresses that have shown wrong tokens."""

    def __init__(self) -> None:
        self._rates = Rates(PER_SECOND, BURST)
        self._logged: dict[str, float] = {}

    def failed(self, address: str, now: float) -> bool:
        """A token from this address was not valid. True: it has to wait now, and the log should say so."""
        self._rates.taken(address, now)
        if not self.wait(address, now) or now - self._logged.get(address, -LOG_INTERVAL) < LOG_INTERVAL:
            return False
        self._logged = {each: at for each, at in self._logged.items() if now - at < LOG_INTERVAL}
        self._logged[address] = now
        return True

    def wait(self, address: str, now: float) -> float:
        """Seconds until another token from this address is looked at; 0: now."""
        return self._rates.wait(address, now)
