"""Pure. How the servers of a cluster recognise each other: by a secret that all of them have, and nobody else.

A server tells the others its address under a seal, so that nobody who can only write to their database leads calls
elsewhere. Who connects seals the challenge that the other end has just made, together with the two nodes: what was
overheard is of no use a second time, nor at another server. No clocks are compared.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from codex_mcp.access.seal import seal, unseal

SHORTEST: Final = 32
"""Bytes of a secret; `openssl rand -hex 32` makes twice as many."""

PROOF_PATIENCE: Final = 10.0
"""Seconds in which a challenge is answered."""

MOST_USED: Final = 10_000
"""Challenges that were answered and are not too old; beyond that, nobody is admitted until some are."""

HOP: Final = "x-codex-hop"
"""The header with a proof."""

CONTROL: Final = "/control"
"""The path at which a server is asked by the others."""


class _Address(Struct, frozen=True):
    url: str


class _Challenge(Struct, frozen=True):
    serial: str
    made: float
    """By the monotonic clock of the server that is asked."""


class _Proof(Struct, frozen=True):
    challenge: str
    of: str
    """The node that connects."""
    to: str


def key_of(secret: bytes) -> bytes:
    return hashlib.sha256(b"codex-mcp cluster\0" + secret.strip()).digest()


def fingerprint(key: bytes) -> str:
    """Says which secret it is, and nothing about it."""
    return hashlib.sha256(b"codex-mcp fingerprint\0" + key).hexdigest()[:32]


class Cluster(Struct, frozen=True):
    """What a server needs to be one of a cluster."""

    key: bytes
    url: str | None = None
    """Where the others reach it."""

    @property
    def address(self) -> str:
        """What it tells the others."""
        return "" if self.url is None else seal(self.key, "address", _Address(self.url))

    def address_in(self, told: str) -> str | None:
        """Where another server is reached; None: no server of the cluster has told this."""
        found = unseal(self.key, "address", told, _Address)
        return None if found is None else found.url


def proof(key: bytes, challenge: str, of: str, to: str) -> str:
    return seal(key, "hop", _Proof(challenge, of, to))


class Challenges:
    """Those of one server. `now` is monotonic; `serial` is new each time."""

    def __init__(self, key: bytes, own: bytes) -> None:
        """`key`: of the cluster. `own`: of this process, which alone takes a challenge for one of its own."""
        self._key = key
        self._own = own
        self._used: OrderedDict[str, float] = OrderedDict()

    def make(self, serial: str, now: float) -> str:
        return seal(self._own, "challenge", _Challenge(serial, now))

    def admit(self, proof: str, node: str, now: float) -> str | None:
        """The node that connects to us, who are `node`; None if this proves nothing, or did so before."""
        self._forget(now)
        shown = unseal(self._key, "hop", proof, _Proof)
        if shown is None or shown.to != node or not shown.of or len(self._used) >= MOST_USED:
            return None
        challenge = unseal(self._own, "challenge", shown.challenge, _Challenge)
        if challenge is None or not 0 <= now - challenge.made <= PROOF_PATIENCE or challenge.serial in self._used:
            return None
        self._used[challenge.serial] = now
        return shown.of

    def _forget(self, now: float) -> None:
        while self._used and next(iter(self._used.values())) < now - PROOF_PATIENCE:
            self._used.popitem(last=False)
