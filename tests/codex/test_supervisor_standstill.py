"""A core that must not go on stands still with all that it has started, until it goes on or is ended."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codex_mcp.base.processes.offspring import children
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import CoreError, CoreLost
from codex_mcp.codex.supervisor import Launcher
from tests.base.processes.test_standstill import state_of
from tests.codex.test_supervisor import GREETING, gone
from tests.support.core.cores import Listener, program, settings_below, supervised
from tests.support.mail.folders import until

LOUD: Launcher = program("env -i setsid sleep 1000 & echo $! >>hidden; " + GREETING + "exec cat >/dev/null")
"""Answers nothing, and has started something that hides."""


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[int]]]:
    """The processes that hide; they outlive a core that is not stopped by its server, and end with the test."""
    monkeypatch.chdir(tmp_path)

    def found() -> list[int]:
        return [int(line) for line in (tmp_path / "hidden").read_text().split()]

    yield found
    for pid in found():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_core_stands_still_with_all_that_it_has_started_and_nothing_else_starts(
    tmp_path: Path, hidden: Callable[[], list[int]], *, goes_on: bool
) -> None:
    listener = Listener()
    async with supervised(LOUD, settings_below(tmp_path, request_timeout=0.05), listener) as supervisor:
        core = await supervisor.core()
        assert supervisor.pid is not None
        pids = (supervisor.pid, *hidden())
        tasks = TaskSet()
        supervisor.still.begin()
        assert state_of(supervisor.pid) in "TR"  # a signal is on its way
        supervisor.still.begin()
        await until(lambda: [state_of(pid) for pid in pids] == ["T", "T"])
        for asked in (supervisor.core(), core.account()):
            with pytest.raises(CoreError, match="in a moment"):
                await asked
        # What stops a turn waits until it goes on, and takes no time until then.
        stopping = tasks.spawn(core.interrupt_turn("thread", "turn"), name="interrupt")
        assert await asyncio.wait([stopping], timeout=0.3) == (set(), {stopping})
        if goes_on:
            await supervisor.still.go_on()
            await supervisor.still.go_on()
            assert "T" not in (state_of(pids[0]), state_of(pids[1]))
            with pytest.raises(CoreError, match="did not answer turn/interrupt"):
                await stopping
        else:
            await supervisor.still.end()
            assert "another server had taken over" in str(await gone(listener))
            with pytest.raises(CoreLost):
                await stopping
            await until(lambda: state_of(pids[1]) == "Z")
            assert await supervisor.core() is not core
        await supervisor.still.end()


async def test_a_core_that_is_just_starting_stands_still_as_well(tmp_path: Path) -> None:
    async with supervised(program("exec sleep 1000"), settings_below(tmp_path)) as supervisor:
        tasks = TaskSet()
        asking = tasks.spawn(supervisor.core(), name="ask")
        while supervisor.starts == 0:  # noqa: ASYNC110  nobody is told of a start
            await asyncio.sleep(0)
        supervisor.still.begin()
        await until(lambda: {state_of(pid) for pid in children()} == {"T"})
        await supervisor.still.end()
        with pytest.raises(CoreError):
            await asking
