"""Servers that start a Codex in a new home at once do so one after the other."""

import asyncio
import fcntl
import os
from pathlib import Path

import pytest

from codex_mcp.codex.starting.first_start import LOCK_FILE, met_another, one_at_a_time
from tests.support.patience import PATIENCE


async def test_the_second_waits_until_the_first_has_started(tmp_path: Path) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def first() -> None:
        async with one_at_a_time(str(tmp_path), "1.0", PATIENCE):
            order.append("first begins")
            began.set()
            await may_end.wait()
            order.append("first has started")

    async def second() -> None:
        await began.wait()
        async with one_at_a_time(str(tmp_path), "1.0", PATIENCE):
            order.append("second begins")

    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        group.create_task(second())
        await began.wait()
        for _ in range(10):  # enough for the second one to begin, if nothing held it
            await asyncio.sleep(0)
        may_end.set()
    assert order == ["first begins", "first has started", "second begins"]


async def test_nobody_waits_once_a_version_has_started_there(tmp_path: Path) -> None:
    async with one_at_a_time(str(tmp_path), "1.0", PATIENCE):
        pass
    with (tmp_path / LOCK_FILE).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        async with one_at_a_time(str(tmp_path), "1.0", PATIENCE):
            pass
        assert (tmp_path / LOCK_FILE).read_text() == "1.0\n"
        async with one_at_a_time(str(tmp_path), "1.1", 0.05):  # another version waits, and not for ever
            pass
    assert (tmp_path / LOCK_FILE).read_text() == "1.0\n1.1\n"


async def test_a_start_that_failed_counts_for_nothing_and_gives_the_lock_back(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with one_at_a_time(str(tmp_path), "1.0", PATIENCE):
            raise ZeroDivisionError
    assert (tmp_path / LOCK_FILE).read_text() == ""
    async with one_at_a_time(str(tmp_path), "1.0", PATIENCE):
        pass
    assert os.stat(tmp_path / LOCK_FILE).st_mode & 0o777 == 0o600


async def test_a_home_without_room_for_the_lock_is_no_hindrance(tmp_path: Path) -> None:
    async with one_at_a_time(str(tmp_path / "missing"), "1.0", PATIENCE):
        pass


@pytest.mark.parametrize(
    ("stderr", "is_met"),
    [
        ("Error: failed to initialize sqlite state runtime under /h: failed to initialize state runtime at /h", True),
        ("error: database is locked", True),
        ("Error: the configuration is broken", False),
        ("", False),
    ],
)
def test_only_trouble_with_the_databases_is_tried_again(stderr: str, is_met: bool) -> None:  # noqa: FBT001
    assert met_another(stderr) is is_met
