"""Pure. The state that servers share: which servers are alive, which may write about a thread, and what was written.

Every write names its claim, except who owns a name. The store checks the claim's node and token in the same transaction
and raises `Fenced` if it is stale. Reads need no claim and may be out of date, so no decision may rest on a read alone.
Every method may raise `Unavailable`, at once or when it is awaited.

Texts are without NUL, which PostgreSQL does not store (`storable`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from codex_mcp.base.errors import Explained

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

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


class Record(Struct, frozen=True):
    """A value of a kind, under a key."""

    kind: str
    key: str
    body: bytes


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

    def join(self, address: str = "") -> Awaitable[Node]:
        """Become a node under a new id, after leaving as the earlier one."""

    def renew(self) -> Awaitable[Renewed | TakenOver]:
        """Extend the lease to one TTL from this call. LeaseLost if it never joined."""

    def leave(self) -> Awaitable[None]:
        """Release all claims and stop being a node. Does nothing if it is not one."""

    def claim(self, thread: str) -> Awaitable[Claim | OwnedBy]:
        """Claim a thread that is free, already ours (which fences the earlier claim) or owned by a dead node."""

    def take(self, node_id: str) -> Awaitable[list[Claim]]:
        """Claim all threads of a dead node and remove that node. Claims nothing if it is alive or unknown.

        A node is dead if its process is gone, or if it was silent for a TTL. Only a node that held its own lease for a
        whole TTL may judge silence: after a pause of the whole machine, the first node to wake takes nothing.
        """

    def release(self, claim: Claim) -> Awaitable[None]:
        """Give the thread up."""

    def nodes(self) -> Awaitable[list[Node]]:
        """All nodes that joined and neither left nor were taken over, ordered by id."""

    def owner(self, thread: str) -> Awaitable[Node | None]:
        """The node that owns the thread, alive or not."""


class Records(Protocol):
    """Small values by kind and key, identities of threads, and requests that came before."""

    def put(self, claim: Claim, kind: str, key: str, body: bytes) -> Awaitable[None]:
        """Write a whole record."""

    def delete(self, claim: Claim, kind: str, key: str) -> Awaitable[None]:
        """Remove a record, if it is there."""

    def bind(self, claim: Claim, team: str, identity: str) -> Awaitable[None]:
        """Bind an identity to the thread. IdentityTaken if another thread has it that a living node claims."""

    def unbind(self, claim: Claim, team: str, identity: str) -> Awaitable[None]:
        """Free the identity, if it is bound to this thread."""

    def own(self, team: str, name: str, principal: str) -> Awaitable[Name]:
        """This principal uses a name. NameOwned if it belongs to another one; TooManyNames."""

    def disown(self, team: str, name: str, principal: str, now: float) -> Awaitable[None]:
        """Release the name, if it belongs to this principal."""

    def once(self, claim: Claim, principal: str, request_id: str) -> Awaitable[Earlier | None]:
        """Remember the request; if it came before, return its thread."""

    def get(self, kind: str, key: str) -> Awaitable[bytes | None]:
        """One record."""

    def find(self, kind: str) -> Awaitable[dict[str, bytes]]:
        """All records of a kind by key, ordered by key."""

    def bindings(self, team: str) -> Awaitable[list[Binding]]:
        """All identities of a team, in order."""

    def names(self, team: str) -> Awaitable[list[Name]]:
        """All names of a team that belong or belonged to a principal, in order."""


class Journal(Protocol):
    """Entries in order, per (thread, stream). Only the newest are kept."""

    def append(
        self, claim: Claim, stream: str, chunks: Sequence[bytes], record: Record | None = None
    ) -> Awaitable[None]:
        """Append entries, and put the record that belongs to them: both, or nothing."""

    def read(self, thread: str, stream: str) -> Awaitable[list[bytes]]:
        """All entries that are kept."""

    def forget(self, claim: Claim) -> Awaitable[None]:
        """Drop all streams of the thread."""


class Owners(Protocol):
    """Which principal owns which thread. What one principal started does not exist for another."""

    def owner(self, thread: str) -> Awaitable[str]:
        """The principal of a thread; the local one if none was recorded."""

    def record(self, thread: str, principal: str) -> Awaitable[None]:
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
