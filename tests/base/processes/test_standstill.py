"""Processes that are meant stand still with all their descendants, and go on as they were."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

from codex_mcp.base.processes.marks import SERVED_BY, variables
from codex_mcp.base.processes.standstill import Stopped, let_go_on, stop_all
from tests.support.patience import PATIENCE

COUNTS = "i=0; while :; do i=$((i+1)); echo $i > $1; done"


def state_of(pid: int) -> str:
    """One letter, as in `ps`; Z for one that is gone."""
    return (_read(Path(f"/proc/{pid}/stat")) or ") Z").rpartition(")")[2].split()[0]


async def until_it_changes(file: Path) -> None:
    """Wait until a process has written something else."""
    before = _read(file)
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(_read, file) in ("", before):
            pass


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def children_of(pid: int) -> list[int]:
    """The processes that it has started."""
    below = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in _read(below).split()]


async def started(file: Path, mark: str, script: str = COUNTS) -> asyncio.subprocess.Process:
    """A shell with this mark, and its child without it, which counts in the file."""
    env = {"PATH": os.defpath, SERVED_BY: mark}
    child = f"env -i setsid sh -c '{script}' sh {file} & wait"
    process = await asyncio.create_subprocess_exec("sh", "-c", child, env=env, start_new_session=True)
    await until_it_changes(file)
    return process


async def test_they_stand_still_with_a_child_that_has_hidden_its_mark_and_go_on(tmp_path: Path) -> None:
    mark, file = os.urandom(8).hex(), tmp_path / "count"
    process = await started(file, mark)
    (child,) = children_of(process.pid)
    other = await asyncio.create_subprocess_exec("sleep", "1000", env={"PATH": os.defpath})
    try:
        stopped = await asyncio.to_thread(stop_all, lambda pid: variables(pid, (SERVED_BY,)).get(SERVED_BY) == mark)
        assert {each.pid for each in stopped} == {process.pid, child}
        assert [state_of(pid) for pid in (process.pid, child)] == ["T", "T"]
        assert state_of(other.pid) != "T"
        # Who was still before is not among those that go on later, nor is who got its number.
        assert stop_all(lambda pid: pid == child) == frozenset()
        let_go_on(frozenset(Stopped(each.pid, b"0") for each in stopped))
        assert state_of(child) == "T"
        let_go_on(stopped)
        await until_it_changes(file)
        assert state_of(process.pid) != "T"
    finally:
        for pid in (child, process.pid, other.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()
        await other.wait()


async def test_one_that_starts_others_all_the_time_stands_still_as_well(tmp_path: Path) -> None:
    mark, file = os.urandom(8).hex(), tmp_path / "count"
    breeds = "i=0; while :; do i=$((i+1)); (echo $i > $1; sleep 0.01) & [ $((i % 50)) = 0 ] && wait; done"
    process = await started(file, mark, breeds)
    try:
        is_meant = lambda pid: variables(pid, (SERVED_BY,)).get(SERVED_BY) == mark  # noqa: E731
        await asyncio.to_thread(stop_all, is_meant)
        assert await asyncio.to_thread(stop_all, is_meant) == frozenset()
    finally:
        for each in await asyncio.to_thread(descendants, process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        await process.wait()


def descendants(pid: int) -> list[int]:
    """The process and all below it, the leaves first."""
    return [each for child in children_of(pid) for each in descendants(child)] + [pid]


def test_a_process_that_has_ended_is_left_alone() -> None:
    let_go_on(frozenset([Stopped(2**22 + 1, b"1")]))
    assert stop_all(lambda _: False) == frozenset()
