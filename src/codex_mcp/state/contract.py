"""Pure. The state that servers share: which servers are alive, which may write about a thread, and what was written.

Every write names its claim, except who owns a name. The store checks the claim's node and token in the same transaction
and raises `Fenced` if it is stale. Reads need no claim and may be out of date, so no decision may rest on a read alone.
Every method may raise `Unavailable`.

Texts are without NUL, which PostgreSQL does not store (`storable`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from codex_mcp.base.errors import Explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from codex_mcp.state.rows import Row

TTL: Final = 10.0
"""Seconds of silence after which a node counts as dead. Fits into the 25 s after which clients of Codex give up."""

JOURNAL_KEPT: Final = 2_000
"""Newest entries kept of each (thread, stream): more than a screen shows, and a late reader starts at a summary."""

REQUESTS_KEPT: Final = 10_000
"""Newest request ids kept, of all principals together. Clients retry within minutes."""


NAMES_KEPT: Final = 1_000
"""Names that one principal may have in a team: far more than it uses, and too few to take all good ones."""


class Bounds(Struct, frozen=True):
    """How long a lease lasts, and how much is kept. All servers of a store must use the same values."""

    ttl: float = TTL
    journal_kept: int = JOURNAL_KEPT
    requests_kept: int = REQUESTS_KEPT
    names_kept: int = NAMES_KEPT


def storable(text: str) -> str:
    """A text that others chose, as a store can keep it."""
    return text if "\0" not in text else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


class Claim(Struct, frozen=True):
    """The right of a node to write about a thread. Each claim has a greater token than all earlier ones."""

    thread: str
    node: str
    token: int


class Node(Struct, frozen=True):
    """One running server, as another sees it. Each join creates a new node; ids are never reused."""

    id: str
    pid: int
    host: str
    address: str
    expires: float
    """When its lease ends, by the clock of the store."""
    alive: bool
    """False if the asking node may take over what it owns."""


class OwnedBy(Struct, frozen=True):
    """The thread belongs to another node, which is alive."""

    node: Node
    token: int


class Earlier(Struct, frozen=True):
    thread: str


class Binding(Struct, frozen=True):
    team: str
    identity: str
    thread: str
    stands: bool = True
    """A living node claims the thread. Otherwise another thread may take the identity."""


class Name(Struct, frozen=True):
    """A name of a team belongs to the principal that used it first, also while no thread has it."""

    name: str
    principal: str
    since: float = 0.0
    """Mail to this name that was sent before is another principal's. In seconds since the epoch."""
    released: float | None = None
    """When its principal gave it up. Another one may take it since then."""


class Renewed(Struct, frozen=True):
    """The lease was extended; no other node has taken over this one."""


class TakenOver(Struct, frozen=True):
    """Another node found this one dead and took over its threads. Stop, forget them, join again."""


class Fenced(Explained):
    """The claim is no longer valid. This is final: stop and forget the thread; do not retry."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(
            f"This server cannot write about {claim.thread}: another server has taken it over, or it was claimed again "
            f"(token {claim.token} is old). Repeat the call, so that its new owner answers."
        )
        self.claim = claim


class LeaseLost(Explained):
    """This node has not joined, or was taken over."""

    def __init__(self) -> None:
        super().__init__("This server cannot claim threads: it is not, or no longer, a member. It must join again.")


class IdentityTaken(Explained):
    """The identity is bound to a thread that a living node claims."""

    def __init__(self, team: str, identity: str, thread: str) -> None:
        super().__init__(
            f'The identity "{identity}" of team "{team}" is taken by {thread}. Choose another, or close that one first.'
        )
        self.thread = thread


class NameOwned(Explained):
    """The name belongs to another principal, whether or not a thread has it."""

    def __init__(self, team: str, name: str) -> None:
        super().__init__(f'The name "{name}" of team "{team}" belongs to another user. Choose another one.')


class TooManyNames(Explained):
    def __init__(self, team: str, limit: int) -> None:
        super().__init__(
            f'You have {limit} names in team "{team}", which is the limit. Use one of them, or remove agents that are '
            "not needed any longer with `codex-mcp threads --prune`, which releases their names."
        )


class NotEmpty(Explained):
    """Rows of another store cannot be added to those that are there."""

    def __init__(self) -> None:
        super().__init__(
            "This state has agents or servers already; rows of another one can only be put into an empty one."
        )


class Unavailable(Explained):
    """The store cannot be used now; it is unknown whether a write happened."""


class Leases(Protocol):
    """Which nodes are alive, and which node owns which thread."""

    async def join(self, address: str = "") -> Node:
        """Become a node under a new id, after leaving as the earlier one."""

    async def renew(self) -> Renewed | TakenOver:
        """Extend the lease to one TTL from this call. LeaseLost if it never joined."""

    async def leave(self) -> None:
        """Release all claims and stop being a node. Does nothing if it is not one."""

    async def claim(self, thread: str) -> Claim | OwnedBy:
        """Claim a thread that is free, already ours (which fences the earlier claim) or owned by a dead node."""

    async def take(self, node_id: str) -> list[Claim]:
        """Claim all threads of a dead node and remove that node. Claims nothing if it is alive or unknown.

        A node is dead if its process is gone, or if it was silent for a TTL. Only a node that held its own lease for a
        whole TTL may judge silence: after a pause of the whole machine, the first node to wake takes nothing.
        """

    async def release(self, claim: Claim) -> None:
        """Give the thread up."""

    async def nodes(self) -> list[Node]:
        """All nodes that joined and neither left nor were taken over, ordered by id."""

    async def owner(self, thread: str) -> Node | None:
        """The node that owns the thread, alive or not."""


class Records(Protocol):
    """Small values by kind and key, identities of threads, and requests that came before."""

    async def put(self, claim: Claim, kind: str, key: str, body: bytes) -> None:
        """Write a whole record."""

    async def delete(self, claim: Claim, kind: str, key: str) -> None:
        """Remove a record, if it is there."""

    async def bind(self, claim: Claim, team: str, identity: str) -> None:
        """Bind an identity to the thread. IdentityTaken if another thread has it that a living node claims."""

    async def unbind(self, claim: Claim, team: str, identity: str) -> None:
        """Free the identity, if it is bound to this thread."""

    async def own(self, team: str, name: str, principal: str) -> Name:
        """This principal uses a name. NameOwned if it belongs to another one; TooManyNames."""

    async def disown(self, team: str, name: str, principal: str, now: float) -> None:
        """Release the name, if it belongs to this principal."""

    async def once(self, claim: Claim, principal: str, request_id: str) -> Earlier | None:
        """Remember the request; if it came before, return its thread."""

    async def get(self, kind: str, key: str) -> bytes | None:
        """One record."""

    async def find(self, kind: str) -> dict[str, bytes]:
        """All records of a kind by key, ordered by key."""

    async def bindings(self, team: str) -> list[Binding]:
        """All identities of a team, in order."""

    async def names(self, team: str) -> list[Name]:
        """All names of a team that belong or belonged to a principal, in order."""


class Journal(Protocol):
    """Entries in order, per (thread, stream). Only the newest are kept."""

    async def append(self, claim: Claim, stream: str, chunks: Sequence[bytes]) -> None:
        """Append entries."""

    async def read(self, thread: str, stream: str) -> list[bytes]:
        """All entries that are kept."""

    async def forget(self, claim: Claim) -> None:
        """Drop all streams of the thread."""


class Owners(Protocol):
    """Which principal owns which thread. What one principal started does not exist for another."""

    async def owner(self, thread: str) -> str:
        """The principal of a thread; the local one if none was recorded."""

    async def record(self, thread: str, principal: str) -> None:
        """This principal started the thread. The first record stays; the local principal needs none."""

    async def aclose(self) -> None:
        """Finish what was begun, and close. Calling it again is fine."""


class Store(Protocol):
    @property
    def bounds(self) -> Bounds:
        """How long a lease lasts here, and how much is kept."""

    @property
    def spans_machines(self) -> bool:
        """Whether nodes of other machines may use it. Their files are not here."""

    @property
    def leases(self) -> Leases:
        """Living nodes and their claims."""

    @property
    def records(self) -> Records:
        """Values, identities and requests."""

    @property
    def journal(self) -> Journal:
        """Ordered entries per thread."""

    async def dump(self, write: Callable[[Row], None]) -> None:
        """Give all that it keeps at one moment to `write`, in an order that only depends on what it is.

        `write` may be called in another thread.
        """

    async def fill(self, rows: Iterable[Row]) -> None:
        """Keep these rows, all or none. NotEmpty if there are some, or a node lives.

        The rows may be read in another thread.
        """

    async def aclose(self) -> None:
        """Leave and close. Calling it again is fine."""
