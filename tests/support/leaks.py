"""What a test may not leave behind: child processes (dead ones that nobody waited for included), open files, threads.

Read from /proc, so that it sees what the kernel sees, not what our own objects believe. Only asyncio's transports of
child processes are asked themselves: one that is left open warns when it is collected, in some later test.
"""

import contextlib
import gc
import os
import threading
import weakref
from asyncio.base_subprocess import BaseSubprocessTransport
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE

_transports: weakref.WeakSet[BaseSubprocessTransport] = weakref.WeakSet()
_create = BaseSubprocessTransport.__init__


def _create_and_note(self: BaseSubprocessTransport, *args: Any, **kwargs: Any) -> None:
    _create(self, *args, **kwargs)
    _transports.add(self)


BaseSubprocessTransport.__init__ = _create_and_note  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What this process holds at one moment."""

    children: frozenset[int]
    files: frozenset[tuple[int, str]]
    threads: frozenset[threading.Thread]
    transports: frozenset[BaseSubprocessTransport]


def take_snapshot() -> Snapshot:
    """Look at this process now."""
    return Snapshot(_children(), _files(), frozenset(threading.enumerate()), frozenset(_open_transports()))


def leaks_since(before: Snapshot) -> list[str]:
    """Say in one sentence each what is here now and was not before."""
    for thread in set(threading.enumerate()) - before.threads:
        thread.join(PATIENCE)  # it may be ending, as asyncio's thread does that waits for a child process
    after = take_snapshot()
    if after.files - before.files:
        gc.collect()  # a file in a reference cycle closes here, and its ResourceWarning fails the test
        after = take_snapshot()
    return [
        *(f"child process {pid} is left: {_describe(pid)}" for pid in sorted(after.children - before.children)),
        *(f"file descriptor {fd} is left open: {target}" for fd, target in sorted(after.files - before.files)),
        *(f"thread {thread.name!r} is left running" for thread in after.threads - before.threads),
        *map(_describe_and_close, after.transports - before.transports),
    ]


def _open_transports() -> list[BaseSubprocessTransport]:
    return [transport for transport in _transports if not transport._closed]


def _describe_and_close(transport: BaseSubprocessTransport) -> str:
    with contextlib.suppress(RuntimeError):  # its loop is closed
        transport.close()  # so that only this test fails
    return f"the transport of child process {transport.get_pid()} is left open"


def _children() -> frozenset[int]:
    """The kernel lists the children of each thread; a thread may have ended since we listed the threads."""
    lists = []
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lists.append(Path(f"/proc/self/task/{thread}/children").read_text())
    return frozenset(int(pid) for line in lists for pid in line.split())


def _describe(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "ended meanwhile"
    return command or "a zombie: nobody waited for it"


def _files() -> frozenset[tuple[int, str]]:
    files = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            files.add((int(name), os.readlink(f"/proc/self/fd/{name}")))
        except OSError:
            continue  # the descriptor of this very listing
    return frozenset(files)
