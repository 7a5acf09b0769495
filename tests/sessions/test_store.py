"""Named sessions on disk: they survive restarts and damage, and the oldest are forgotten."""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings, stateful
from hypothesis import strategies as st

from codex_mcp.sessions.session import Key, NamedSession, SessionLimits
from codex_mcp.sessions.store import DATABASE, SessionStore
from codex_mcp.state.contract import Unavailable

T = TypeVar("T")

KEY = Key("ada", "review")
NEW = NamedSession(id="review", created=1, used=1, thread="t1", model="m")
ROOMY = SessionLimits(ttl=0, most=1000)


@contextlib.asynccontextmanager
async def opened(home: Path, limits: SessionLimits = ROOMY) -> AsyncIterator[SessionStore]:
    store = SessionStore(str(home), limits, lambda _: False)
    try:
        yield store
    finally:
        await store.aclose()


async def ids(store: SessionStore, now: float = 0) -> list[str]:
    return [session.id for session in await store.all_of("ada", now)]


async def test_a_session_survives_a_restart_with_its_turns(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        assert await store.get(KEY) is None
        await store.begin_turn(KEY, NEW, continues=False)
        await store.add_turn(KEY, NEW, "hi", "hello")
    async with opened(tmp_path) as store:
        found = await store.get(KEY)
        assert found is not None
        assert (found.turns, found.thread, found.model, found.recent[0].prompt) == (1, "t1", "m", "hi")


async def test_a_session_that_continues_keeps_its_turns_and_one_that_is_reset_does_not(tmp_path: Path) -> None:
    later = NamedSession(id="review", created=5, used=5, thread="t2")
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NEW, continues=False)
        await store.add_turn(KEY, NEW, "hi", "hello")
        kept = await store.begin_turn(KEY, later, continues=True)
        assert (kept.turns, kept.created, kept.thread) == (1, 1, "t2")
        reset = await store.begin_turn(KEY, later, continues=False)
        assert (reset.turns, reset.created) == (0, 5)


async def test_a_turn_from_before_a_reset_is_not_added(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NamedSession(id="review", created=1, used=1, thread="t2"), continues=False)
        assert (await store.add_turn(KEY, NEW, "hi", "hello")).turns == 0


async def test_a_thread_gets_its_own_name(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NEW, continues=False)
        await store.rename_thread(KEY, "other", "t9")
        await store.rename_thread(KEY, "t1", "t2")
        found = await store.get(KEY)
        assert found is not None
        assert found.thread == "t2"


async def test_two_servers_share_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as another:
        await one.begin_turn(KEY, NEW, continues=False)
        await another.add_turn(KEY, NEW, "hi", "hello")
        found = await one.get(KEY)
        assert found is not None
        assert found.turns == 1


async def test_expired_sessions_of_every_principal_go(tmp_path: Path) -> None:
    async with opened(tmp_path, SessionLimits(ttl=10, most=5)) as store:
        await store.begin_turn(Key("bob", "old"), NamedSession(id="old", created=1, used=1), continues=False)
        await store.begin_turn(KEY, NamedSession(id="review", created=20, used=20), continues=False)
    with contextlib.closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        assert database.execute("SELECT principal FROM sessions").fetchall() == [("ada",)]


@pytest.mark.parametrize("damage", ["noise", "a folder", "another table", "half a file"])
async def test_a_damaged_file_is_moved_aside_with_a_warning(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / DATABASE
    path.parent.mkdir(parents=True)
    if damage == "noise":
        path.write_bytes(b"this is no database " * 100)
    elif damage == "a folder":
        path.mkdir()
    elif damage == "another table":
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE sessions (what)")
    else:
        async with opened(tmp_path) as store:
            for number in range(200):
                await store.begin_turn(Key("ada", f"s{number}"), NEW, continues=False)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NEW, continues=False)
        assert await ids(store) == ["review"]
        assert store.trouble == ""
    assert "renamed" in caplog.text
    assert len(list(path.parent.glob("sessions.db.broken-*"))) >= 1


async def test_damage_while_it_is_open_is_survived(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(tmp_path) as store:
        for number in range(50):
            await store.begin_turn(Key("ada", f"s{number}"), NEW, continues=False)
        for name in ("", "-wal"):
            path = tmp_path / f"{DATABASE}{name}"
            if path.exists():
                path.write_bytes(b"\xff" * path.stat().st_size)
        await store.begin_turn(KEY, NEW, continues=False)
        assert "review" in await ids(store)


async def test_without_a_file_sessions_are_kept_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "codex-mcp").write_text("in the way")
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NEW, continues=False)
        assert await ids(store) == ["review"]
        assert "only until the server ends" in store.trouble
        assert store.trouble in caplog.text


async def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NEW, continues=False)
        with contextlib.closing(sqlite3.connect(tmp_path / DATABASE)) as database:
            database.execute("DROP TABLE sessions")
        with pytest.raises(Unavailable, match=r"named sessions cannot be written to .*sessions\.db"):
            await store.add_turn(KEY, NEW, "hi", "hello")


async def test_a_session_that_cannot_be_read_begins_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NEW, continues=False)
        with contextlib.closing(sqlite3.connect(tmp_path / DATABASE)) as database:
            database.execute("UPDATE sessions SET body = 'nonsense'")
            database.commit()
        assert await store.get(KEY) is None
        assert await ids(store) == []


LIMITS = SessionLimits(ttl=100, most=3)


class AnyLife(stateful.RuleBasedStateMachine):
    """Random uses, lists, waits and restarts of two principals, next to a model that is a list."""

    names = st.sampled_from([f"s{number}" for number in range(6)])
    principals = st.sampled_from(["ada", "bob"])

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.mkdtemp()
        self.loop = asyncio.new_event_loop()
        self.now = 1000.0
        self.busy: set[Key] = set()
        self.sessions: dict[str, list[tuple[str, float, int]]] = {"ada": [], "bob": []}
        """Of each principal: id, last use, turns; the most recently used first."""
        self.store = self.fresh()

    def fresh(self) -> SessionStore:
        return SessionStore(self.home, LIMITS, lambda key: key in self.busy)

    def done(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def expect(self, principal: str) -> list[tuple[str, float, int]]:
        def is_busy(session_id: str) -> bool:
            return Key(principal, session_id) in self.busy

        alive = [each for each in self.sessions[principal] if self.now - each[1] < LIMITS.ttl or is_busy(each[0])]
        while len(alive) > LIMITS.most and (idle := [each for each in alive if not is_busy(each[0])]):
            alive.remove(idle[-1])
        return alive

    @stateful.rule(principal=principals, name=names)
    def use(self, principal: str, name: str) -> None:
        key = Key(principal, name)
        before = next((each for each in self.expect(principal) if each[0] == name), None)
        session = NamedSession(id=name, created=self.now, used=self.now, thread="t")
        self.busy.add(key)  # as the server does, which locks a session before it writes it
        kept = self.done(self.store.begin_turn(key, session, continues=before is not None))
        assert kept.turns == (0 if before is None else before[2])
        rest = [each for each in self.sessions[principal] if each[0] != name]
        self.sessions[principal] = [(name, self.now, kept.turns), *rest]
        for other in self.sessions:
            self.sessions[other] = self.expect(other) if other == principal else self.sessions[other]

    @stateful.rule(principal=principals, name=names)
    def end(self, principal: str, name: str) -> None:
        key = Key(principal, name)
        if key not in self.busy:
            return
        session = NamedSession(id=name, created=0, used=self.now, thread="t")
        added = self.done(self.store.add_turn(key, session, "p", "a"))
        (before,) = (each for each in self.sessions[principal] if each[0] == name)
        rest = [each for each in self.sessions[principal] if each[0] != name]
        self.sessions[principal] = [(name, self.now, before[2] + 1), *rest]
        assert added.turns == before[2] + 1
        self.busy.discard(key)

    @stateful.rule(seconds=st.sampled_from([1.0, 30.0, 99.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @stateful.rule()
    def restart(self) -> None:
        self.done(self.store.aclose())
        self.busy.clear()
        self.store = self.fresh()

    @stateful.invariant()
    def both_agree(self) -> None:
        for principal in self.sessions:
            listed = self.done(self.store.all_of(principal, self.now))
            assert [(each.id, each.used, each.turns) for each in listed] == self.expect(principal)

    def teardown(self) -> None:
        self.done(self.store.aclose())
        self.loop.close()
        shutil.rmtree(self.home)


AnyLife.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


class TestAnyLife(AnyLife.TestCase):  # type: ignore[misc,valid-type]  # hypothesis makes this class
    """Runs it."""


@pytest.mark.parametrize("kept", [(), ("-wal", "-shm")])
async def test_a_file_that_is_removed_while_it_is_open_is_written_again(tmp_path: Path, kept: tuple[str, ...]) -> None:
    async with opened(tmp_path) as store:
        await store.begin_turn(KEY, NEW, continues=False)
        for companion in {"", "-wal", "-shm"} - set(kept):
            (tmp_path / f"{DATABASE}{companion}").unlink()
        await store.add_turn(KEY, NEW, "hi", "hello")
    async with opened(tmp_path) as store:
        found = await store.get(KEY)
        assert found is not None
        assert found.turns == 1
