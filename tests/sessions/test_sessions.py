"""Named sessions on the real Codex, without a client: which thread a call gets, and who waits for whom."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.sessions import SessionSettings
from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.sessions.locks import SessionLocks
from codex_mcp.sessions.session import Key, Resumed
from codex_mcp.sessions.sessions import NamedSessions, Order, SessionTurn
from codex_mcp.sessions.store import DATABASE
from codex_mcp.state.embedded import opening
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.patience import PATIENCE

KEY = Key("local", "s")
GATE = "[[scene: gate]]"


@contextlib.asynccontextmanager
async def opened(threads: Threads, home: Path) -> AsyncIterator[NamedSessions]:
    sessions = NamedSessions(threads, SessionSettings(), str(home))
    try:
        yield sessions
    finally:
        await sessions.aclose()


def submit(thread: Thread, spec: TurnSpec) -> Turn:
    return thread.submit(spec, Watcher(), full_events=False)


def refuse(thread: Thread, spec: TurnSpec) -> Turn:
    raise Refused("no")


def order(prompt: str, *, reset: bool = False) -> Order:
    return Order(ThreadSpec(), TurnSpec(prompt), reset=reset)


async def ran(sessions: NamedSessions, prompt: str) -> SessionTurn:
    use = await sessions.begin(KEY, order(prompt), submit, PATIENCE)
    async with asyncio.timeout(PATIENCE):
        await use.saved.wait()
    return use


async def freed(locks: SessionLocks) -> None:
    locks.free(KEY)


async def test_a_session_continues_its_thread_and_counts_its_turns(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _), opened(threads, tmp_path) as sessions:
        assert sessions.names("unknown") == {}
        first, second = await ran(sessions, "one"), await ran(sessions, "two")
        assert first.thread is second.thread
        assert [use.resumed for use in (first, second)] == [Resumed.NEW, Resumed.NATIVE]
        told = sessions.names(first.thread.id)["session"]
        assert told == {"id": "s", "resumed": "native", "turns": 2, "model": "gpt-5.5"}
        assert [each.turns for each in await sessions.all_of("local")] == [2]
        assert await sessions.all_of("ada") == []


async def test_a_reset_waits_for_the_running_turn_or_is_refused(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model), opened(threads, tmp_path) as sessions:
        running = await sessions.begin(KEY, order(GATE), submit, PATIENCE)
        await model.wait_for_gate("gate")
        with pytest.raises(Refused, match="Session s is in use: its turn in thread"):
            await sessions.begin(KEY, order("new", reset=True), submit, 0)
        model.release("gate")
        use = await sessions.begin(KEY, order("new", reset=True), submit, PATIENCE)
        assert use.resumed is Resumed.RESET
        assert use.thread is not running.thread
        await use.saved.wait()
        assert [each.turns for each in await sessions.all_of("local")] == [1]


async def test_a_session_of_another_server_is_waited_for_or_refused(tmp_path: Path) -> None:
    other = SessionLocks(str(tmp_path))
    async with scripted_threads(tmp_path) as (threads, _), opened(threads, tmp_path) as sessions:
        assert other.take(KEY)
        with pytest.raises(Refused, match="in use by another server"):
            await sessions.begin(KEY, order("hi"), submit, 0)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as both:
            waiting = both.create_task(ran(sessions, "hi"))
            both.create_task(freed(other))
        assert waiting.result().resumed is Resumed.NEW


async def test_an_idle_thread_goes_to_the_server_that_takes_its_session_and_back(tmp_path: Path) -> None:
    async with (
        scripted_threads(tmp_path) as (threads, _),
        scripted_threads(tmp_path) as (others, _),
        opened(threads, tmp_path) as ours,
        opened(others, tmp_path) as theirs,
    ):
        first = await ran(ours, "one")
        second, third = await ran(theirs, "two"), await ran(ours, "three")
        assert first.thread.id == second.thread.id == third.thread.id
        assert [second.resumed, third.resumed] == [Resumed.NATIVE, Resumed.NATIVE]
        assert [each.turns for each in await theirs.all_of("local")] == [3]


async def test_a_turn_that_could_not_be_queued_leaves_the_session_free(tmp_path: Path) -> None:
    other = SessionLocks(str(tmp_path))
    async with scripted_threads(tmp_path) as (threads, _), opened(threads, tmp_path) as sessions:
        with pytest.raises(Refused, match="no"):
            await sessions.begin(KEY, order("hi"), refuse, PATIENCE)
        assert not other.is_taken(KEY)
        assert (await ran(sessions, "hi")).resumed is Resumed.NATIVE


async def test_a_thread_that_was_never_written_is_replaced_without_a_fallback(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _):
        async with opened(threads, tmp_path) as sessions:
            with contextlib.suppress(Refused):
                await sessions.begin(KEY, order("hi"), refuse, PATIENCE)
        for thread in threads:
            await threads.unload(thread)
        async with opened(threads, tmp_path) as sessions:
            assert (await ran(sessions, "hi")).resumed in (Resumed.NEW, Resumed.NATIVE)


async def test_a_turn_is_counted_if_the_store_is_only_locked_when_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "BUSY_TIMEOUT", 0.01)
    async with scripted_threads(tmp_path) as (threads, model), opened(threads, tmp_path) as sessions:
        await ran(sessions, "one")
        with contextlib.closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            use = await sessions.begin(KEY, order(GATE, reset=True), submit, PATIENCE)
            await model.wait_for_gate("gate")
            other.execute("ROLLBACK")
        model.release("gate")
        async with asyncio.timeout(PATIENCE):
            await use.saved.wait()
        assert "database is locked" in use.turn.outcome.warnings[0]
        assert not use.trouble
        assert [(each.thread, each.turns) for each in await sessions.all_of("local")] == [(use.thread.id, 1)]
