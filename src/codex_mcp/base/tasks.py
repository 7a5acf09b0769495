"""The only place that creates tasks: each has a name and an owner, and every failure is logged."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field

from codex_mcp.base.errors import Explained

logger = logging.getLogger(__name__)

T = TypeVar("T")

Ended: TypeAlias = Callable[[asyncio.Task[Any]], None]

_unowned: set[asyncio.Task[Any]] = set()
"""The event loop references its tasks weakly; without a reference here, a waiting task could vanish."""


def spawn(coro: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
    """Start a task without an owner, for work that ends by itself. Prefer a TaskSet or a TaskGroup."""
    return _start(coro, name, _unowned)


class TaskSet(Struct, eq=False):
    """Owns the tasks of one object; `aclose()` ends them all, and may be called twice."""

    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _closed: bool = False

    def __len__(self) -> int:
        """How many tasks still run."""
        return len(self._tasks)

    def spawn(self, coro: Coroutine[Any, Any, T], *, name: str, ended: Ended | None = None) -> asyncio.Task[T]:
        """Start a task that ends with this set at the latest. `ended` is told of the end; then no failure is logged."""
        if self._closed:
            coro.close()  # otherwise Python warns that it was never awaited
            raise RuntimeError(f"cannot start {name}: its owner is closed")
        return _start(coro, name, self._tasks, ended)

    async def join(self) -> None:
        """Wait for the end of the tasks that run now."""
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def aclose(self) -> None:
        """Cancel all running tasks and wait for their end. A task of the set may call this itself."""
        self._closed = True
        others = self._tasks - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)


def _start(
    coro: Coroutine[Any, Any, T], name: str, owner: set[asyncio.Task[Any]], ended: Ended | None = None
) -> asyncio.Task[T]:
    task = asyncio.create_task(coro, name=name)
    owner.add(task)
    task.add_done_callback(owner.discard)
    task.add_done_callback(ended or _log_failure)
    return task


def _log_failure(task: asyncio.Task[Any]) -> None:
    if task.cancelled():
        return
    error = task.exception()
    if isinstance(error, Explained):
        logger.warning("task %s failed: %s", task.get_name(), error)
    elif error is not None:
        logger.error("task %s failed: %s", task.get_name(), error, exc_info=error)
