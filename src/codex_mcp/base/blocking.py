"""Work that blocks, on threads: files, git, the ends of processes.

A file on a network may not answer for hours, so that its thread hangs. Hence each principal has its own threads, and
each function a part of them: what hangs delays nobody else, and nothing else of the same principal. What finds no
thread waits for one. The threads end with the process, also those that hang; asyncio's own would keep it from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final, ParamSpec, TypeVar

from codex_mcp.base.logs import current_subject

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE: Final = 4
"""Threads of one function for one principal: as many as a small machine and its disk keep busy."""

MOST: Final = 16
"""Threads of one principal."""

MOST_OF_ALL: Final = 128
"""Threads of all principals together. To take all of them, eight principals must have files that do not answer."""

IDLE: Final = 0.2
"""Seconds after which a thread without work ends: enough for the next step of the same call."""

Key = tuple[str, str]
"""The principal and the function."""


class _Job:
    __slots__ = ("call", "future", "key", "loop")

    def __init__(self, key: Key, call: Callable[[], Any]) -> None:
        self.key = key
        self.call = call
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def run(self) -> None:
        if self.future.cancelled():
            return
        try:
            result, error = self.call(), None
        except BaseException as exc:  # noqa: BLE001  the caller gets it
            result, error = None, exc
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any longer
            self.loop.call_soon_threadsafe(settle, self.future, result, error)


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Give a future, which may be cancelled, what a thread has returned or raised. On the event loop."""
    if future.done():
        return
    if isinstance(error, StopIteration):  # which a future cannot hold
        error = RuntimeError("StopIteration in a thread")
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class _Threads:
    """Which jobs run and which wait. All attributes belong to the lock."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Begin anew. A forked process has none of the threads, and the lock may be held for ever."""
        self._lock = threading.Condition()
        self._running: dict[Key, int] = {}
        self._principals: dict[str, int] = {}
        self._total = 0
        self._waiting: deque[_Job] = deque()
        self._ready: deque[_Job] = deque()
        self._idle = 0

    def submit(self, job: _Job) -> None:
        with self._lock:
            if not self._may_run(job.key):
                self._waiting.append(job)
                return
            self._begin(job)
            if self._idle >= len(self._ready):
                self._lock.notify()
                return
        threading.Thread(target=self._work, name="codex-mcp-blocking", daemon=True).start()

    def _may_run(self, key: Key) -> bool:
        return (
            self._running.get(key, 0) < AT_ONCE and self._principals.get(key[0], 0) < MOST and self._total < MOST_OF_ALL
        )

    def _begin(self, job: _Job) -> None:
        self._total += 1
        self._running[job.key] = self._running.get(job.key, 0) + 1
        self._principals[job.key[0]] = self._principals.get(job.key[0], 0) + 1
        self._ready.append(job)

    def _end(self, key: Key) -> None:
        self._total -= 1
        _count_down(self._running, key)
        _count_down(self._principals, key[0])
        for job in self._waiting:
            if self._may_run(job.key):
                self._waiting.remove(job)
                self._begin(job)
                return

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.run()
            key = job.key
            del job  # an idle thread must not keep the last result alive
            with self._lock:
                self._end(key)

    def _next(self) -> _Job | None:
        with self._lock:
            if not self._ready:
                self._idle += 1
                self._lock.wait_for(lambda: self._ready, IDLE)
                self._idle -= 1
            return self._ready.popleft() if self._ready else None


def _count_down(counts: dict[Any, int], key: object) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


_threads: Final = _Threads()


def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Call a function on a thread of the current principal. A caller that is cancelled does not wait for its end."""
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    context = copy_context()
    job = _Job((current_subject().principal, name), lambda: context.run(function, *args, **kwargs))
    _threads.submit(job)
    return job.future


def in_own_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Call a function that waits for long on a thread of its own. Its owner limits how many there are."""
    job = _Job(("", ""), lambda: function(*args, **kwargs))
    threading.Thread(target=job.run, name="codex-mcp-waiting", daemon=True).start()
    return job.future
