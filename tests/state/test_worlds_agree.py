"""Three nodes do anything in any order, in the model and in a store at once: both must say the same at every step."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from codex_mcp.base.errors import Explained
from codex_mcp.state.contract import Claim, Record, Store
from tests.support.state.worlds import BOUNDS, InMemory, OnDisk, OnPostgres, StateWorld

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NODES = range(3)
who = st.sampled_from(NODES)
thread = st.sampled_from(["a", "b", "c"])
name = st.sampled_from(["x", "y"])
principal = st.sampled_from(["p", "q"])
text = st.binary(max_size=3)


class Side:
    """One of the two worlds. Nodes have random ids, so each is called by its number here."""

    def __init__(self, runner: asyncio.Runner, world: StateWorld) -> None:
        self._runner = runner
        self.world = world
        self.numbers: dict[str, str] = {}
        self.stores = [runner.run(world.open()) for _ in NODES]
        self.ids: list[str] = []
        self.claims: list[Claim] = []

    def do(self, deed: Callable[[Side], Awaitable[object]]) -> object:
        """What came of it, in words that both worlds share."""

        async def run() -> object:
            return await deed(self)

        try:
            result = self._runner.run(run())
        except Explained as error:
            return type(error).__name__, self._same_words(str(error))
        self.claims += [
            found for found in (result if isinstance(result, list) else [result]) if isinstance(found, Claim)
        ]
        return self._same_words(msgspec.json.encode(result).decode())

    def _same_words(self, words: str) -> str:
        for node_id, number in self.numbers.items():
            words = words.replace(node_id, number)
        return words

    async def join(self, number: int) -> None:
        """A node joins, and gets its number."""
        node = await self.stores[number].leases.join(f"{number}")
        self.numbers[node.id] = f"node-{len(self.numbers)}"
        self.ids.append(node.id)

    async def kill(self, number: int) -> None:
        """Its process is gone, and another one starts."""
        await self.world.kill(self.stores[number])
        self.stores[number] = await self.world.open()

    async def looks(self, number: int) -> object:
        """All that a node can see."""
        store = self.stores[number]
        nodes = sorted(await store.leases.nodes(), key=lambda node: self.ids.index(node.id))
        journals = [await self._stream(store, place) for place in "abc"]
        return (
            nodes,
            await store.records.find("k"),
            await store.records.bindings("team"),
            await store.records.names("team"),
            journals,
        )

    async def _stream(self, store: Store, place: str) -> object:
        return await store.leases.owner(place), await store.journal.read(place, "s")


class TwoWorlds(RuleBasedStateMachine):
    """Claims are drawn from all that were ever made, so most of them are stale."""

    claims = Bundle("claims")
    store: Callable[[], StateWorld] = OnDisk

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._sides = [Side(self._runner, InMemory()), Side(self._runner, type(self).store())]
        self._steps = 0

    def both(self, deed: Callable[[Side], Awaitable[object]]) -> object:
        model, store = (side.do(deed) for side in self._sides)
        assert model == store
        return model

    def new_claims(self, before: int) -> object:
        return multiple(*range(before, len(self._sides[0].claims)))

    @initialize()
    def all_join(self) -> None:
        for n in NODES:
            self.join(n)

    @rule(n=who)
    def join(self, n: int) -> None:
        self.both(lambda side: side.join(n))

    @rule(n=who)
    def leave(self, n: int) -> None:
        self.both(lambda side: side.stores[n].leases.leave())

    @rule(n=who)
    def renew(self, n: int) -> None:
        self.both(lambda side: side.stores[n].leases.renew())

    @rule(n=who)
    def kill(self, n: int) -> None:
        self.both(lambda side: side.kill(n))

    @rule(seconds=st.sampled_from([1.0, BOUNDS.ttl / 2, BOUNDS.ttl]), awake=st.sets(who))
    def time_passes(self, seconds: float, awake: set[int]) -> None:
        for _ in range(2):
            for side in self._sides:
                side.world.now += seconds / 2
            for n in sorted(awake):
                self.renew(n)

    @rule(n=who, thread=thread, target=claims)
    def claim(self, n: int, thread: str) -> object:
        before = len(self._sides[0].claims)
        self.both(lambda side: side.stores[n].leases.claim(thread))
        return self.new_claims(before)

    @rule(n=who, of=st.integers(0, 5), target=claims)
    def take(self, n: int, of: int) -> object:
        before = len(self._sides[0].claims)
        if of < len(self._sides[0].ids):
            self.both(lambda side: side.stores[n].leases.take(side.ids[-1 - of]))
        return self.new_claims(before)

    @rule(n=who, claim=consumes(claims))
    def release(self, n: int, claim: int) -> None:
        self.both(lambda side: side.stores[n].leases.release(side.claims[claim]))

    @rule(n=who, claim=claims, key=name, body=text)
    def put(self, n: int, claim: int, key: str, body: bytes) -> None:
        self.both(lambda side: side.stores[n].records.put(side.claims[claim], "k", key, body))

    @rule(n=who, claim=claims, key=name)
    def delete(self, n: int, claim: int, key: str) -> None:
        self.both(lambda side: side.stores[n].records.delete(side.claims[claim], "k", key))

    @rule(n=who, claim=claims, name=name)
    def bind(self, n: int, claim: int, name: str) -> None:
        self.both(lambda side: side.stores[n].records.bind(side.claims[claim], "team", name))

    @rule(n=who, claim=claims, name=name)
    def unbind(self, n: int, claim: int, name: str) -> None:
        self.both(lambda side: side.stores[n].records.unbind(side.claims[claim], "team", name))

    @rule(n=who, name=st.sampled_from(["x", "y", "z"]), principal=principal)
    def own(self, n: int, name: str, principal: str) -> None:
        self.both(lambda side: side.stores[n].records.own("team", name, principal))

    @rule(n=who, name=name, principal=principal, now=st.sampled_from([1.0, 2.0]))
    def disown(self, n: int, name: str, principal: str, now: float) -> None:
        self.both(lambda side: side.stores[n].records.disown("team", name, principal, now))

    @rule(n=who, claim=claims, request=st.sampled_from("12345"))
    def once(self, n: int, claim: int, request: str) -> None:
        self.both(lambda side: side.stores[n].records.once(side.claims[claim], "p", request))

    @rule(n=who, claim=claims, chunks=st.lists(text, max_size=4))
    def append(self, n: int, claim: int, chunks: list[bytes]) -> None:
        self.both(lambda side: side.stores[n].journal.append(side.claims[claim], "s", chunks))

    @rule(n=who, claim=claims, key=name, chunks=st.lists(text, max_size=2))
    def append_with_its_record(self, n: int, claim: int, key: str, chunks: list[bytes]) -> None:
        record = Record("k", key, b"with it")
        self.both(lambda side: side.stores[n].journal.append(side.claims[claim], "s", chunks, record))

    @rule(n=who, claim=claims)
    def forget(self, n: int, claim: int) -> None:
        self.both(lambda side: side.stores[n].journal.forget(side.claims[claim]))

    @invariant()
    def whoever_looks_sees_the_same(self) -> None:
        self._steps += 1
        self.both(lambda side: side.looks(self._steps % len(NODES)))

    def teardown(self) -> None:
        for side in self._sides:
            self._runner.run(side.world.aclose())
        self._runner.close()


class PostgresWorld(TwoWorlds):
    """The model and PostgreSQL, of which each step costs a dozen round trips."""

    store = OnPostgres


TestTwoWorlds = TwoWorlds.TestCase
TestTwoWorlds.settings = settings(max_examples=40, stateful_step_count=40)
TestPostgresWorld = PostgresWorld.TestCase
TestPostgresWorld.settings = settings(max_examples=8, stateful_step_count=30)
