"""Worlds of stores for the contract's tests: the same tests run in each kind, with a clock that the test moves."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from codex_mcp.state.contract import Bounds, Claim
from codex_mcp.state.embedded.store import EmbeddedStore, open_store
from codex_mcp.state.postgres.store import PostgresStore
from codex_mcp.state.postgres.store import open_store as open_postgres
from tests.support.state.memory import MemoryStore, World
from tests.support.state.postgres import shared_postgres

if TYPE_CHECKING:
    from codex_mcp.state.contract import Store

BOUNDS = Bounds(ttl=10.0, journal_kept=5, requests_kept=3, names_kept=2)


class StateWorld(Protocol):
    """Where several nodes share a state."""

    now: float

    async def open(self) -> Store:
        """A store of its own, for one node."""

    async def kill(self, store: Store) -> None:
        """Let the store's process be gone, without a word."""

    async def aclose(self) -> None:
        """Close all stores."""


class InMemory:
    """The model."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self.now = 1000.0
        self._world = World(bounds, lambda: self.now)
        self._stores: list[MemoryStore] = []

    async def open(self) -> MemoryStore:
        """One more store."""
        self._stores.append(MemoryStore(self._world))
        return self._stores[-1]

    async def kill(self, store: Store) -> None:
        """Nobody closes it any more."""
        assert isinstance(store, MemoryStore)
        if store.me is not None:
            self._world.kill(store.me)
        self._stores.remove(store)

    async def aclose(self) -> None:
        """Close all stores."""
        for store in self._stores:
            await store.aclose()


class OnDisk:
    """The embedded store, on a folder of its own."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self.now = 1000.0
        self._bounds = bounds
        self._folder = tempfile.TemporaryDirectory(prefix="codex-mcp-state-")
        self._stores: list[EmbeddedStore] = []

    async def open(self) -> EmbeddedStore:
        """One more store."""
        self._stores.append(await open_store(self._folder.name, self._bounds, lambda: self.now))
        return self._stores[-1]

    async def kill(self, store: Store) -> None:
        """Nobody closes it any more."""
        assert isinstance(store, EmbeddedStore)
        await store.abandon()
        self._stores.remove(store)

    async def aclose(self) -> None:
        """Close all stores, and remove the folder."""
        for store in self._stores:
            await store.aclose()
        self._folder.cleanup()


class OnPostgres:
    """The store in PostgreSQL, in a schema of its own. Each node has the same state folder, as on one machine."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self.now = 1000.0
        self._bounds = bounds
        self._folder = tempfile.TemporaryDirectory(prefix="codex-mcp-state-")
        self._dsn = ""
        self._stores: list[PostgresStore] = []

    @property
    def dsn(self) -> str:
        """Its address, once there is a store."""
        return self._dsn

    async def open(self) -> PostgresStore:
        """One more store."""
        self._dsn = self._dsn or await shared_postgres().schema()
        self._stores.append(await open_postgres(self._dsn, self._folder.name, self._bounds, lambda: self.now))
        return self._stores[-1]

    async def kill(self, store: Store) -> None:
        """Nobody closes it any more."""
        assert isinstance(store, PostgresStore)
        await store.abandon()
        self._stores.remove(store)

    async def aclose(self) -> None:
        """Close all stores, and remove the folder."""
        for store in self._stores:
            await store.aclose()
        self._folder.cleanup()


MakeWorld = Callable[[], StateWorld]


@asynccontextmanager
async def opened(make_world: MakeWorld) -> AsyncIterator[StateWorld]:
    """A world, while inside."""
    world = make_world()
    try:
        yield world
    finally:
        await world.aclose()


async def member(world: StateWorld, address: str = "") -> Store:
    """A store whose node has joined."""
    store = await world.open()
    await store.leases.join(address)
    return store


async def claimed(store: Store, thread: str) -> Claim:
    """The claim of a thread that must be free."""
    claim = await store.leases.claim(thread)
    assert isinstance(claim, Claim)
    return claim


async def silence(world: StateWorld, *awake: Store, seconds: float = 2 * BOUNDS.ttl) -> None:
    """Let time pass in which only these nodes renew."""
    for _ in range(int(seconds)):
        world.now += 1.0
        for store in awake:
            await store.leases.renew()
