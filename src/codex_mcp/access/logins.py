"""Checks tokens, and slows down addresses that send invalid ones."""

from __future__ import annotations

import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from codex_mcp.access.gate import TOO_MANY_FAILURES, Admitted, Rejected
from codex_mcp.access.rates import FailedLogins

logger = logging.getLogger(__name__)

ACCEPTED: Final = 10_000
"""Hashes of tokens that were valid before: these are checked even if their address sent invalid ones."""


class Logins:
    def __init__(self) -> None:
        self._accepted: OrderedDict[bytes, None] = OrderedDict()
        self._failed = FailedLogins()

    def verdict(self, token: str, address: str, judge: Callable[[bytes], Admitted | Rejected]) -> Admitted | Rejected:
        """`judge` decides, given the token's SHA-256."""
        digest, now = hashlib.sha256(token.encode()).digest(), time.monotonic()
        if digest not in self._accepted and self._failed.wait(address, now) > 0:
            return TOO_MANY_FAILURES
        verdict = judge(digest)
        if isinstance(verdict, Admitted):
            self._accepted[digest] = None
            if len(self._accepted) > ACCEPTED:
                self._accepted.popitem(last=False)
        elif self._failed.failed(address, now):
            logger.warning("too many invalid tokens from %s; it may now try two per second", address or "a client")
        return verdict
