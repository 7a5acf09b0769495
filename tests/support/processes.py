"""The processes of one test, found by the HOME that the test gave them, whoever started them and whoever adopted them.

`leaks.py` sees our own children only; a client's server, the server's Codex and Codex's commands are further away.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codex_mcp.base.processes.marks import environment
from tests.support.patience import PATIENCE


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was alive when we looked."""

    pid: int
    argv: tuple[str, ...]
    parent: int = 0


def processes_at(home: Path) -> list[Process]:
    """Every living process whose HOME is this folder."""
    return list(_at_home(home))


def commands_at(home: Path, text: str) -> list[Process]:
    """Those among them whose command line holds this text, and those that wrap them; there must be one."""
    found = [process for process in _at_home(home) if text in " ".join(process.argv)]
    assert found, f"nothing runs {text!r}"
    return found


def the_server(home: Path) -> Process:
    """The one `codex-mcp mcp-server` among them."""
    return the_one(home, lambda process: "mcp-server" in process.argv)


def the_core(home: Path) -> Process:
    """The one `codex app-server` among them."""
    return the_one(home, lambda process: "app-server" in process.argv)


def the_one(home: Path, fits: Callable[[Process], bool]) -> Process:
    """The process that fits. It may be starting another one: a fork looks like its parent until it calls exec."""
    fitting = [process for process in _at_home(home) if fits(process)]
    pids = {process.pid for process in fitting}
    found = [process for process in fitting if process.parent not in pids]
    assert len(found) == 1, found
    return found[0]


def end_all(home: Path) -> None:
    """End whatever is left there, at once."""
    for process in processes_at(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


async def all_ended(home: Path) -> None:
    """Wait until no process has this HOME; fail if one does not end."""
    try:
        async with asyncio.timeout(PATIENCE):
            while left := processes_at(home):
                for process in left:
                    await ended(process)
    except TimeoutError:
        raise AssertionError(f"processes are left: {processes_at(home)}") from None


async def ended(process: Process) -> None:
    """Wait until this process has ended, whether or not somebody has waited for it."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def lines_in(fifo: Path, number: int) -> None:
    """Wait until so many lines have been written to it."""
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    descriptor = os.open(fifo, os.O_RDWR)
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, lambda: lines.put_nowait(os.read(descriptor, 1)))
    try:
        async with asyncio.timeout(PATIENCE):
            for _ in range(number):
                assert await lines.get() == b"\n"
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _at_home(home: Path) -> Iterator[Process]:
    wanted = f"HOME={home}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        # It may end while we look; a zombie has neither environment nor arguments.
        with contextlib.suppress(OSError):
            if wanted in environment(pid).split(b"\0") and (argv := _arguments(pid)):
                stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
                yield Process(int(pid), argv, int(stat.rpartition(")")[2].split()[1]))


def _arguments(pid: str) -> tuple[str, ...]:
    """Its command line; while it calls exec there is none, and we look again. Empty if it has ended."""
    while not (words := Path(f"/proc/{pid}/cmdline").read_bytes()):
        os.readlink(f"/proc/{pid}/exe")  # fails for a zombie
        os.sched_yield()
    return tuple(words.decode(errors="replace").split("\0"))


def children_of(pid: int) -> list[int]:
    """The processes that it has started from its main thread."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident_kib(pid: int) -> int:
    """How much memory it has."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def descriptors(pid: int) -> int:
    """How many files, pipes and sockets it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))
