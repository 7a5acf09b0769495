"""Threads for work that blocks: what hangs delays nobody else, and does not keep the process from ending."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codex_mcp.base.blocking import AT_ONCE, MOST, MOST_OF_ALL, in_own_thread, in_thread
from codex_mcp.base.logs import Subject, about_only

ENDING = """
import asyncio, os, sys
from codex_mcp.base.blocking import in_own_thread, in_thread

async def main():
    hanging = [in_thread(os.open, sys.argv[1], os.O_RDONLY) for _ in range(20)]
    hanging.append(in_own_thread(os.open, sys.argv[1], os.O_RDONLY))
    print(await in_thread(len, "four"), flush=True)

asyncio.run(main())
"""


class Hanging:
    """Functions that do not return before they may."""

    def __init__(self) -> None:
        self.started: list[asyncio.Future[str]] = []
        self.released = threading.Event()
        self.begun = 0
        self._began: asyncio.Queue[None] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def read(self) -> str:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._began.put_nowait, None)
        self.released.wait()
        return "read"

    def look(self) -> str:
        return self.read()

    def start(self, principal: str, count: int, function: Callable[[], str] | None = None) -> list[asyncio.Future[str]]:
        self._loop = asyncio.get_running_loop()
        with about_only(Subject(principal=principal)):
            started = [in_thread(function or self.read) for _ in range(count)]
        self.started += started
        return started

    async def all_ended(self) -> None:
        await asyncio.gather(*self.started, return_exceptions=True)

    def more_began(self) -> bool:
        """Whether more have begun than were waited for."""
        return not self._began.empty()

    async def until(self, begun: int) -> None:
        """Wait until so many have begun."""
        while self.begun < begun:
            await self._began.get()
            self.begun += 1


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.released.set()


async def test_what_hangs_delays_neither_another_principal_nor_another_function(hanging: Hanging) -> None:
    stuck = hanging.start("a", 3 * AT_ONCE)
    await hanging.until(AT_ONCE)
    with about_only(Subject(principal="a")):
        assert await in_thread(len, "four") == 4
    with about_only(Subject(principal="b")):
        assert await in_thread(len, "four") == 4
        other = hanging.start("b", 1)
    await hanging.until(AT_ONCE + 1)
    assert hanging.more_began() is False
    hanging.released.set()
    assert await asyncio.gather(*stuck, *other) == ["read"] * (3 * AT_ONCE + 1)


async def test_one_principal_has_a_limited_number_of_threads_and_so_have_all(hanging: Hanging) -> None:
    functions = [lambda: hanging.read() for _ in range(2)] + [hanging.read, hanging.look]
    for number, function in enumerate(functions):
        if number < 2:
            function.__qualname__ = f"function{number}"
    for function in functions:
        hanging.start("a", AT_ONCE, function)
    more = hanging.start("a", 1, lambda: "more")
    await hanging.until(MOST)
    for number in range(1, MOST_OF_ALL // AT_ONCE):
        hanging.start(f"p{number}", AT_ONCE)
    await hanging.until(MOST_OF_ALL)
    assert hanging.more_began() is False
    assert not more[0].done()
    hanging.released.set()
    assert await more[0] == "more"
    await hanging.all_ended()


async def test_a_cancelled_caller_does_not_wait_and_what_waited_is_never_called(hanging: Hanging) -> None:
    stuck = hanging.start("a", AT_ONCE)
    waiting = hanging.start("a", 1)
    await hanging.until(AT_ONCE)
    for task in (stuck[0], waiting[0]):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    hanging.released.set()
    await hanging.all_ended()
    assert await in_thread(len, "four") == 4
    assert hanging.more_began() is False


async def length_of(text: str) -> int:
    return await in_thread(len, text)


async def test_a_forked_process_has_threads_of_its_own(hanging: Hanging) -> None:
    hanging.start("", AT_ONCE, hanging.read)
    await hanging.until(AT_ONCE)
    assert await in_thread(len, "four") == 4  # and its thread waits for more
    pid = os.fork()
    if pid == 0:  # a new loop: that of the test belongs to its parent
        asyncio.events._set_running_loop(None)
        os._exit(asyncio.new_event_loop().run_until_complete(length_of("four")))
    status = os.waitpid(pid, 0)[1]  # noqa: ASYNC222  it takes a moment
    assert os.waitstatus_to_exitcode(status) == 4
    hanging.released.set()
    await hanging.all_ended()


async def test_the_error_of_a_function_reaches_its_caller() -> None:
    with pytest.raises(FileNotFoundError):
        await in_thread(open, "/nowhere/at/all")
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(next, iter(()))
    with pytest.raises(ZeroDivisionError):
        await in_own_thread(divmod, 1, 0)


def test_a_thread_that_hangs_does_not_keep_the_process_from_ending(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run(
        [sys.executable, "-c", ENDING, str(tmp_path / "pipe")], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
