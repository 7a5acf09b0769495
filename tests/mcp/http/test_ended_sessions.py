"""Session ids that were ended stay ended, in a file of bounded size, and its lock delays nobody else."""

import contextlib
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.mcp.http.ended_sessions import DATABASE, KEPT, EndedSessions
from codex_mcp.state.contract import Unavailable

LATER = 1000.0


@contextlib.asynccontextmanager
async def opened(home: Path, kept: int = KEPT) -> AsyncIterator[EndedSessions]:
    ended = EndedSessions(str(home), kept)
    await ended.open()
    yield ended
    await ended.aclose()


async def test_an_ended_id_is_known_to_the_next_server_of_the_same_home(tmp_path: Path) -> None:
    async with opened(tmp_path) as ended:
        await ended.add("one", time.time() + LATER)
        await ended.add("one", time.time() + LATER)
    async with opened(tmp_path) as ended:
        assert (await ended.has("one"), await ended.has("two")) == (True, False)


async def test_ids_that_have_expired_and_ids_beyond_the_limit_are_forgotten(tmp_path: Path) -> None:
    now = time.time()
    async with opened(tmp_path, kept=2) as ended:
        await ended.add("old", now - 1)
        for number in range(3):
            await ended.add(str(number), now + LATER + number)
        assert [await ended.has(name) for name in ("old", "0", "1", "2")] == [False, False, True, True]


async def test_the_file_is_its_owners_alone_and_holds_no_id(tmp_path: Path) -> None:
    async with opened(tmp_path) as ended:
        await ended.add("an-id-that-must-not-be-found", time.time() + LATER)
    files = list((tmp_path / DATABASE).parent.iterdir())
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert not any(b"an-id-that" in file.read_bytes() for file in files)


async def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    os.makedirs(tmp_path / DATABASE)
    with pytest.raises(Unavailable, match="which lists the sessions that have ended"):
        await EndedSessions(str(tmp_path)).open()


async def test_a_lock_of_another_process_delays_only_who_needs_the_list(tmp_path: Path) -> None:
    async with opened(tmp_path) as ended:
        holder = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        recorded = ended.add("one", time.time() + LATER)  # returns at once: the event loop goes on
        holder.execute("ROLLBACK")
        holder.close()
        await recorded
        assert await ended.has("one")
