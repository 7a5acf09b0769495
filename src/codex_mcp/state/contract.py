"""Pure. What servers of one team agree on: who is alive, who may write about a thread, and what is written.

Every write names its claim, and the store checks its owner and token in the same transaction: a stale one is `Fenced`.
Reads need no claim and may be old; nothing is decided on a read alone. Every method may raise `Unavailable`.

Positions in a journal are boundaries: position n has n entries before it, whatever has been trimmed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from codex_mcp.base.errors import Explained

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

TTL: Final = 10.0
"""Seconds of silence after which a node may be taken for dead. Fits the 25 s after which clients of Codex give up."""

JOURNAL_KEPT: Final = 2_000
"""Entries that each (thread, stream) keeps; the oldest go. A screen shows fewer, a late reader starts at a summary."""

REQUESTS_KEPT: Final = 10_000
"""Request ids that a store remembers, of all principals together; the oldest go. Clients retry within minutes."""


class Bounds(Struct, frozen=True):
    """How long a lease lasts, and how much is kept. All servers on one store must use the same."""

    ttl: float = TTL
    journal_kept: int = JOURNAL_KEPT
    requests_kept: int = REQUESTS_KEPT


class Claim(Struct, frozen=True):
    """The right of a node to write about a thread. The token of each claim is greater than that of any before."""

    thread: str
    node: str
    token: int


class Node(Struct, frozen=True):
    """One running server, as another sees it. Each join makes a new one; ids are never used again."""

    id: str
    pid: int
    host: str
    address: str
    expires: float
    """When its silence has lasted too long, by the clock of the store."""
    alive: bool
    """False if whoever asks may take over what it owns."""


class OwnedBy(Struct, frozen=True):
    """The thread is another's, who lives."""

    node: Node
    token: int


class Earlier(Struct, frozen=True):
    """The same request came before, and led to this thread."""

    thread: str


class Binding(Struct, frozen=True):
    """An identity of a team is the name of a thread."""

    team: str
    identity: str
    thread: str
    stands: bool = True
    """A living node claims the thread. Otherwise another thread may have the name."""


class Renewed(Struct, frozen=True):
    """The lease goes on, and nobody took anything meanwhile by `take`."""


class TakenOver(Struct, frozen=True):
    """Another node found this one dead and took what it owned. Stop, forget, join again."""


class Fenced(Explained):
    """The claim is no longer valid. That is final: stop, forget, never retry."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(
            f"This server cannot write about {claim.thread}: another one has taken it over, or it was claimed again "
            f"(token {claim.token} is old). Ask again, so that its new owner answers."
        )
        self.claim = claim


class LeaseLost(Explained):
    """This node has not joined, or was taken over."""

    def __init__(self) -> None:
        super().__init__("This server cannot claim threads: it is not, or no longer, a member. It must join again.")


class IdentityTaken(Explained):
    """The name belongs to a thread that somebody runs."""

    def __init__(self, team: str, identity: str, thread: str) -> None:
        super().__init__(
            f'The identity "{identity}" of team "{team}" is taken by {thread}. Choose another, or close that one first.'
        )
        self.thread = thread


class WrongPosition(Explained):
    """An append that would leave a hole or overwrite something."""

    def __init__(self, thread: str, stream: str, at: int, actual: int) -> None:
        super().__init__(f"Cannot append to {stream} of {thread} at {at}: it ends at {actual}. Continue from there.")
        self.actual = actual


class Trimmed(Explained):
    """What was to be read is no longer kept."""

    def __init__(self, thread: str, stream: str, after: int, start: int) -> None:
        super().__init__(f"Cannot read {stream} of {thread} after {after}: it begins at {start}. Read on from there.")
        self.start = start


class Unavailable(Explained):
    """The store cannot be reached or used now; whether a write happened is not known."""


class Leases(Protocol):
    """Who is alive, and who owns what."""

    async def join(self, address: str = "") -> Node:
        """Become a node, under a new id. Whoever was one before leaves first."""

    async def renew(self) -> Renewed | TakenOver:
        """Stay alive for another TTL, counted from the call. LeaseLost if it never joined."""

    async def leave(self) -> None:
        """Free all claims at once, and be no node any more. Nothing happens to one that is none."""

    async def claim(self, thread: str) -> Claim | OwnedBy:
        """Own the thread, if it is free, our own already (the earlier claim is fenced) or a dead node's."""

    async def take(self, node_id: str) -> list[Claim]:
        """Own all threads of a dead node, which is then no node any more. Nothing of one that lives or is unknown.

        Dead is who left evidence (its process is gone) or was silent for a TTL. Silence may only be judged by those
        who held their own lease for one whole TTL: after a pause of everybody the first to wake takes nothing.
        """

    async def release(self, claim: Claim) -> None:
        """Own the thread no more."""

    async def nodes(self) -> list[Node]:
        """All that joined and neither left nor were taken, in the order of their ids."""

    async def owner(self, thread: str) -> Node | None:
        """Whose thread it is, alive or not."""


class Records(Protocol):
    """Small values by kind and key, names of threads, and requests that came before."""

    async def put(self, claim: Claim, kind: str, key: str, body: bytes) -> None:
        """Write a record, whole."""

    async def delete(self, claim: Claim, kind: str, key: str) -> None:
        """Remove a record, if it is there."""

    async def bind(self, claim: Claim, team: str, identity: str) -> None:
        """Give the thread a name. IdentityTaken if it is another's that a living node claims; else it is replaced."""

    async def unbind(self, claim: Claim, team: str, identity: str) -> None:
        """Free the name, if it is this thread's."""

    async def once(self, claim: Claim, principal: str, request_id: str) -> Earlier | None:
        """Remember the request, unless it came before."""

    async def get(self, kind: str, key: str) -> bytes | None:
        """One record."""

    async def find(self, kind: str) -> dict[str, bytes]:
        """All records of a kind by key, in the order of keys."""

    async def bindings(self, team: str) -> list[Binding]:
        """All names of a team, in the order of identities."""


class Journal(Protocol):
    """Entries in order without holes, per (thread, stream). Only the newest are kept."""

    async def append(self, claim: Claim, stream: str, at: int, chunks: Sequence[bytes]) -> int:
        """Add entries at the end, which must be at `at` (else WrongPosition). Returns the new end."""

    async def head(self, thread: str, stream: str) -> int:
        """Where it ends: how many entries were ever appended."""

    async def start(self, thread: str, stream: str) -> int:
        """Where it begins: how many entries are no longer kept. Reading after it gives all that is left."""

    async def read(self, thread: str, stream: str, after: int, limit: int) -> list[bytes]:
        """At most so many entries after a position. Trimmed if some of them are gone."""

    def follow(self, thread: str, stream: str, after: int) -> AsyncIterator[bytes]:
        """All entries after a position, those to come included, until the store closes. Trimmed as with `read`."""

    async def trim(self, claim: Claim, stream: str, before: int) -> None:
        """Drop the entries before a position. The end stays where it is."""

    async def forget(self, claim: Claim) -> None:
        """Drop all streams of the thread, as if there had been none."""


class Owners(Protocol):
    """Which principal owns which thread. What one principal started does not exist for another."""

    async def owner(self, thread: str) -> str:
        """The principal of a thread; the local one if none was recorded."""

    async def record(self, thread: str, principal: str) -> None:
        """This principal started the thread. The first record stays; the local principal needs none."""

    async def aclose(self) -> None:
        """Finish what was begun, and close. Calling it again is fine."""


class Store(Protocol):
    """One node's way to what all share."""

    @property
    def bounds(self) -> Bounds:
        """How long a lease lasts here, and how much is kept."""

    @property
    def leases(self) -> Leases:
        """Who is alive, and who owns what."""

    @property
    def records(self) -> Records:
        """Values, names and requests."""

    @property
    def journal(self) -> Journal:
        """What happened, in order."""

    async def aclose(self) -> None:
        """Leave, and end everything that waits. Again: fine."""
