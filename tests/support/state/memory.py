"""The state contract in memory: the model that every other store is compared with. Several stores share one world.

A test can kill a node (`World.kill`: its process is gone) or silence it (`World.stop`).
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from codex_mcp.state.contract import (
    Binding,
    Bounds,
    Claim,
    Earlier,
    Fenced,
    IdentityTaken,
    LeaseLost,
    Name,
    NameOwned,
    Node,
    NotEmpty,
    OwnedBy,
    Record,
    Renewed,
    TakenOver,
    TooManyNames,
    Unavailable,
)
from codex_mcp.state.lease import Standing, after_renewal, joined, may_judge
from codex_mcp.state.names import released_by, used_by
from codex_mcp.state.rows import (
    EntryRow,
    IdentityRow,
    LastToken,
    NameRow,
    RecordRow,
    RequestRow,
    StreamRow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from codex_mcp.state.rows import Row


class Member(Struct):
    """A node in the world."""

    id: str
    address: str
    standing: Standing
    has_died: bool = False
    is_silent: bool = False


class MemoryStream(Struct):
    """The entries of one stream that are kept, and how many there were before them."""

    start: int = 0
    entries: list[bytes] = []
    tokens: list[int] = []

    @property
    def head(self) -> int:
        """Where it ends."""
        return self.start + len(self.entries)

    def add(self, token: int, entries: Sequence[bytes]) -> None:
        """Entries that the holder of this token has appended."""
        self.entries.extend(entries)
        self.tokens.extend([token] * len(entries))

    def drop_before(self, position: int) -> None:
        """Keep only what comes after a position."""
        gone = min(max(position - self.start, 0), len(self.entries))
        del self.entries[:gone]
        del self.tokens[:gone]
        self.start += gone


class World:
    """What all stores share."""

    def __init__(self, bounds: Bounds | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.bounds = bounds or Bounds()
        self.clock = clock
        self.members: dict[str, Member] = {}
        self.claims: dict[str, Claim] = {}
        self.records: dict[tuple[str, str], bytes] = {}
        self.names: dict[tuple[str, str], str] = {}
        self.owned: dict[tuple[str, str], Name] = {}
        self.requests: dict[tuple[str, str], str] = {}
        self.streams: dict[tuple[str, str], MemoryStream] = {}
        self.tokens = 0

    def kill(self, node_id: str) -> None:
        """Its process is gone."""
        if node_id in self.members:  # else it was taken over before
            self.members[node_id].has_died = True

    def stop(self, node_id: str) -> None:
        """It was silent for a whole TTL while the other nodes were awake. It may come back by renewing."""
        self.members[node_id].is_silent = True

    def check(self, claim: Claim) -> None:
        """Raise Fenced unless the claim is valid."""
        if self.claims.get(claim.thread) != claim:
            raise Fenced(claim)

    def new_claim(self, thread: str, node_id: str) -> Claim:
        """Make a claim the valid one."""
        self.tokens += 1
        claim = self.claims[thread] = Claim(thread, node_id, self.tokens)
        return claim

    def is_alive(self, member: Member, judge: str | None) -> bool:
        """Whether this judge must treat the member as alive."""
        now = self.clock()
        if member.id == judge:
            return True
        if member.has_died or member.is_silent:
            return False
        if now < member.standing.expires:
            return True
        judging = self.members.get(judge or "")
        return not may_judge(judging.standing if judging else None, now, self.bounds.ttl)

    def seen_by(self, member: Member, judge: str | None) -> Node:
        """A member as another store sees it."""
        alive = self.is_alive(member, judge)
        return Node(member.id, os.getpid(), socket.gethostname(), member.address, member.standing.expires, alive)

    def stands(self, thread: str, judge: str | None) -> bool:
        """Whether a living node claims the thread."""
        claim = self.claims.get(thread)
        return claim is not None and self.is_alive(self.members[claim.node], judge)


class MemoryStore:
    """One node's way to the world."""

    spans_machines = False

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.bounds = self.world.bounds
        self.me: str | None = None
        self.is_closed = False
        self.leases = MemoryLeases(self)
        self.records = MemoryRecords(self)
        self.journal = MemoryJournal(self)

    def open_world(self) -> World:
        """The world, as long as the store is open."""
        if self.is_closed:
            raise Unavailable("The state cannot be used: its store is closed, since the server is ending.")
        return self.world

    async def dump(self, write: Callable[[Row], None]) -> None:
        """Everything but nodes and claims."""
        world = self.open_world()
        write(LastToken(world.tokens))
        for (kind, key), body in sorted(world.records.items()):
            write(RecordRow(kind, key, body))
        for (team, identity), thread in sorted(world.names.items()):
            write(IdentityRow(team, identity, thread))
        for (team, _), name in sorted(world.owned.items(), key=lambda item: item[0]):
            write(NameRow(team, name.name, name.principal, name.since, name.released))
        for (principal, request_id), thread in world.requests.items():
            write(RequestRow(principal, request_id, thread))
        streams = sorted(world.streams.items(), key=lambda item: item[0])
        for (thread, stream), kept in streams:
            write(StreamRow(thread, stream, kept.start, kept.head))
        for (thread, stream), kept in streams:
            for at, (token, body) in enumerate(zip(kept.tokens, kept.entries, strict=True), kept.start):
                write(EntryRow(thread, stream, at, token, body))

    async def fill(self, rows: Iterable[Row]) -> None:
        """Keep these rows; a world that has some takes none."""
        world = self.open_world()
        has_rows = any((world.records, world.names, world.owned, world.requests, world.streams))
        if has_rows or any(node.alive for node in await self.leases.nodes()):
            raise NotEmpty
        for row in list(rows):
            match row:
                case LastToken(last):
                    world.tokens = max(world.tokens, last)
                case RecordRow(kind, key, body):
                    world.records[kind, key] = body
                case IdentityRow(team, name, thread):
                    world.names[team, name] = thread
                case NameRow(team, name, principal, since, released):
                    world.owned[team, name] = Name(name, principal, since, released)
                case RequestRow(principal, request_id, thread):
                    world.requests[principal, request_id] = thread
                case StreamRow(thread, name, start, _):
                    world.streams[thread, name] = MemoryStream(start)
                case EntryRow(thread, stream, _, token, body):
                    world.streams[thread, stream].add(token, [body])

    async def aclose(self) -> None:
        """Leave, and accept no more calls."""
        if not self.is_closed:
            await self.leases.leave()
            self.is_closed = True


class MemoryLeases:
    """Leases in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def _member(self) -> Member:
        member = self._store.open_world().members.get(self._store.me or "")
        if member is None:
            raise LeaseLost
        return member

    async def join(self, address: str = "") -> Node:
        await self.leave()
        world = self._store.open_world()
        node_id = os.urandom(6).hex()
        owners = {claim.node for claim in world.claims.values()}
        for member in list(world.members.values()):
            if member.has_died and member.id not in owners:
                del world.members[member.id]
        member = world.members[node_id] = Member(node_id, address, joined(world.clock(), world.bounds.ttl))
        self._store.me = node_id
        return world.seen_by(member, node_id)

    async def renew(self) -> Renewed | TakenOver:
        world = self._store.open_world()
        if self._store.me is None:
            raise LeaseLost
        member = world.members.get(self._store.me)
        if member is None:
            return TakenOver()
        member.is_silent = False
        member.standing = after_renewal(member.standing, world.clock(), world.bounds.ttl)
        return Renewed()

    async def leave(self) -> None:
        world, me = self._store.open_world(), self._store.me
        world.members.pop(me or "", None)
        world.claims = {thread: claim for thread, claim in world.claims.items() if claim.node != me}
        self._store.me = None

    async def claim(self, thread: str) -> Claim | OwnedBy:
        world, me = self._store.open_world(), self._member()
        current = world.claims.get(thread)
        if current is not None and current.node != me.id:
            owner = world.members[current.node]
            if world.is_alive(owner, me.id):
                return OwnedBy(world.seen_by(owner, me.id), current.token)
        return world.new_claim(thread, me.id)

    async def take(self, node_id: str) -> list[Claim]:
        world, me = self._store.open_world(), self._member()
        dead = world.members.get(node_id)
        if dead is None or dead is me or world.is_alive(dead, me.id):
            return []
        threads = sorted(thread for thread, claim in world.claims.items() if claim.node == node_id)
        del world.members[node_id]
        return [world.new_claim(thread, me.id) for thread in threads]

    async def release(self, claim: Claim) -> None:
        world = self._store.open_world()
        world.check(claim)
        del world.claims[claim.thread]

    async def nodes(self) -> list[Node]:
        world = self._store.open_world()
        return [world.seen_by(world.members[node_id], self._store.me) for node_id in sorted(world.members)]

    async def owner(self, thread: str) -> Node | None:
        world = self._store.open_world()
        claim = world.claims.get(thread)
        return world.seen_by(world.members[claim.node], self._store.me) if claim else None


class MemoryRecords:
    """Records in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def _checked(self, claim: Claim) -> World:
        world = self._store.open_world()
        world.check(claim)
        return world

    async def put(self, claim: Claim, kind: str, key: str, body: bytes) -> None:
        self._checked(claim).records[kind, key] = body

    async def delete(self, claim: Claim, kind: str, key: str) -> None:
        self._checked(claim).records.pop((kind, key), None)

    async def bind(self, claim: Claim, team: str, identity: str) -> None:
        world = self._checked(claim)
        holder = world.names.get((team, identity), claim.thread)
        if holder != claim.thread and world.stands(holder, claim.node):
            raise IdentityTaken(team, identity, holder)
        world.names[team, identity] = claim.thread

    async def unbind(self, claim: Claim, team: str, identity: str) -> None:
        world = self._checked(claim)
        if world.names.get((team, identity)) == claim.thread:
            del world.names[team, identity]

    async def own(self, team: str, name: str, principal: str) -> Name:
        world = self._store.open_world()
        found = world.owned.get((team, name))
        used = used_by(found, name, principal)
        if used is None:
            raise NameOwned(team, name)
        theirs = [each for (of, _), each in world.owned.items() if (of, each.principal) == (team, principal)]
        if used != found and sum(each.released is None for each in theirs) >= world.bounds.names_kept:
            raise TooManyNames(team, world.bounds.names_kept)
        world.owned[team, name] = used
        return used

    async def disown(self, team: str, name: str, principal: str, now: float) -> None:
        world = self._store.open_world()
        released = released_by(world.owned.get((team, name)), principal, now)
        if released is not None:
            world.owned[team, name] = released

    async def names(self, team: str) -> list[Name]:
        owned = self._store.open_world().owned
        return [owned[key] for key in sorted(owned) if key[0] == team]

    async def once(self, claim: Claim, principal: str, request_id: str) -> Earlier | None:
        world = self._checked(claim)
        earlier = world.requests.get((principal, request_id))
        if earlier is not None:
            return Earlier(earlier)
        world.requests[principal, request_id] = claim.thread
        while len(world.requests) > world.bounds.requests_kept:
            del world.requests[next(iter(world.requests))]
        return None

    async def get(self, kind: str, key: str) -> bytes | None:
        return self._store.open_world().records.get((kind, key))

    async def find(self, kind: str) -> dict[str, bytes]:
        records = self._store.open_world().records
        return {key: records[of, key] for of, key in sorted(records) if of == kind}

    async def bindings(self, team: str) -> list[Binding]:
        world, me = self._store.open_world(), self._store.me
        names = sorted((identity, thread) for (of, identity), thread in world.names.items() if of == team)
        return [Binding(team, identity, thread, world.stands(thread, me)) for identity, thread in names]


class MemoryJournal:
    """The journal in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def append(self, claim: Claim, stream: str, chunks: Sequence[bytes], record: Record | None = None) -> None:
        world = self._store.open_world()
        world.check(claim)
        if record is not None:
            world.records[record.kind, record.key] = record.body
        kept = world.streams.setdefault((claim.thread, stream), MemoryStream())
        kept.add(claim.token, chunks)
        kept.drop_before(kept.head - world.bounds.journal_kept)

    async def read(self, thread: str, stream: str) -> list[bytes]:
        kept = self._store.open_world().streams.get((thread, stream))
        return [] if kept is None else list(kept.entries)

    async def forget(self, claim: Claim) -> None:
        world = self._store.open_world()
        world.check(claim)
        world.streams = {place: kept for place, kept in world.streams.items() if place[0] != claim.thread}
