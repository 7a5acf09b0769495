"""The environments of one core: added when a thread first needs one, and given up after the last one has left.

    environment is   needed by a thread           last thread leaves        core ends
    ---------------  ---------------------------  ------------------------  ---------
    unknown          opened, added to the core    -                         -
    added            asked whether it answers     given up after `LINGER`   given up
    given up         opened, added anew           -                         -

Codex connects as soon as an environment is added, so none is added before it is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final, TypeAlias

from msgspec import UNSET, Struct

from codex_mcp.access.token_files import read_token_file
from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.environments import EXEC_ENVIRONMENT, Environment, unknown
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import CoreError, CoreLost
from codex_mcp.wire.app import requests

logger = logging.getLogger(__name__)

LINGER: Final = 3.0
"""Seconds after the last thread: Codex still ends its commands there, and the next thread need not connect again."""


CLOSING_SECONDS: Final = 5.0
"""For all ways of a core together; on a machine that works they take milliseconds."""


class Entrance(Struct, frozen=True):
    """Where Codex itself finds an environment."""

    url: str
    token: str | None = None
    problem: Callable[[], str] = str
    """Why the environment behind it was not reached last time; empty if it was, or if that is not known."""


class EnvironmentState(Struct, frozen=True):
    """How a core has an environment."""

    state: str
    """`in use`, `not in use`, or `not reached`."""
    since: float
    """Seconds since 1970."""
    why: str = ""


IN_USE: Final = "in use"
NOT_IN_USE: Final = "not in use"
NOT_REACHED: Final = "not reached"

Reach: TypeAlias = Callable[[Environment], AbstractAsyncContextManager[Entrance]]
"""Opens a way for one Codex, and closes it."""

Ask: TypeAlias = Callable[[str, object], Awaitable[object]]
"""Makes a request to the core."""


@contextlib.asynccontextmanager
async def reach_directly(environment: Environment) -> AsyncIterator[Entrance]:
    """Codex dials the exec-server itself."""
    path = environment.token_file
    yield Entrance(environment.url, None if path is None else await in_thread(_read_token, path))


class _Added:
    """One environment of this core."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.open = AsyncExitStack()
        self.door: Entrance | None = None
        self.threads: set[str] = set()
        self.starting = 0
        self.now = EnvironmentState(NOT_IN_USE, 0.0)
        self.failed = ""
        """Why Codex could not use it when it was needed last; its own way does not say whether that is over."""

    def is_now(self, state: str, why: str = "") -> None:
        if (state, why) != (self.now.state, self.now.why):
            self.now = EnvironmentState(state, time.time(), why)

    def was_asked(self, why: str = "") -> None:
        """Codex has looked whether it can use it; `why` it cannot."""
        self.failed = why if self.door is not None and not self.door.problem() else ""
        self.is_now(NOT_REACHED if why else IN_USE, why)

    @property
    def is_needed(self) -> bool:
        return bool(self.threads or self.starting)


class CoreEnvironments:
    def __init__(self, known: Mapping[str, Environment], reach: Reach, ask: Ask) -> None:
        self._known = known
        self._reach = reach
        self._ask = ask
        self._added: dict[str, _Added] = {}
        self._tasks = TaskSet()

    @contextlib.asynccontextmanager
    async def used(self, name: str | None) -> AsyncIterator[Callable[[str], None]]:
        """Have an environment that answers; call the result with the thread that stays. Raises CoreError.

        Without it, Codex would silently run an agent without tools for commands and files.
        """
        if name is None or name not in self._known:
            self._check(name)
            yield lambda _thread_id: None
            return
        added = self._added.setdefault(name, _Added())
        added.starting += 1
        try:
            async with added.lock:
                await self._have(self._known[name], added)
            yield added.threads.add
        finally:
            added.starting -= 1
            self._give_up_later(name, added)

    def states(self) -> dict[str, EnvironmentState]:
        """How it has those that a thread has needed."""
        for added in self._added.values():
            problem = "" if added.door is None else added.door.problem() or added.failed
            if added.door is not None and added.now.state != NOT_IN_USE:
                added.is_now(NOT_REACHED if problem else IN_USE, problem)
        return {name: added.now for name, added in self._added.items()}

    def left(self, thread_id: str) -> None:
        """The core has unloaded this thread."""
        for name, added in self._added.items():
            if thread_id in added.threads:
                added.threads.discard(thread_id)
                self._give_up_later(name, added)

    async def aclose(self) -> None:
        """May be called twice. The next core does not wait long for ways whose other end has vanished."""
        await self._tasks.aclose()
        try:
            async with asyncio.timeout(CLOSING_SECONDS):
                for added in self._added.values():
                    await added.open.aclose()
        except TimeoutError:
            logger.warning("the way to an environment could not be closed in %g s", CLOSING_SECONDS)

    def _check(self, name: str | None) -> None:
        if name not in (None, "local"):
            raise CoreError(str(unknown(str(name), self._known)), "add it to the settings, or use a server that has it")

    async def _have(self, environment: Environment, added: _Added) -> None:
        try:
            if added.door is None:
                door = await added.open.enter_async_context(self._reach(environment))
                token = UNSET if door.token is None else door.token
                await self._ask("environment/add", requests.AddEnvironment(environment.name, door.url, token))
                added.door = door
            await self._ask("environment/info", requests.EnvironmentId(environment.name))
        except CoreLost:
            raise
        except CoreError as exc:
            why = _unusable(environment, added.door, exc)
            added.was_asked(why)
            raise CoreError(why) from exc
        added.was_asked()

    def _give_up_later(self, name: str, added: _Added) -> None:
        if not added.is_needed:
            with contextlib.suppress(RuntimeError):  # the core has ended, and everything with it
                self._tasks.spawn(self._give_up(added), name=f"environment {name} is not used")

    async def _give_up(self, added: _Added) -> None:
        await asyncio.sleep(LINGER)
        async with added.lock:
            if not added.is_needed and added.door is not None:
                added.door = None
                await added.open.aclose()
                added.open = AsyncExitStack()
                if added.now.state == IN_USE:
                    added.is_now(NOT_IN_USE)


def _unusable(environment: Environment, door: Entrance | None, exc: CoreError) -> str:
    is_named = environment.name != EXEC_ENVIRONMENT
    what = f"environment {environment.name} ({environment.url})" if is_named else f"exec-server {environment.url}"
    why = (door.problem() if door is not None else "") or exc
    return f'cannot use the {what}: {why}; start it and try again, or set environment to "local"'


def _read_token(path: str) -> str:
    try:
        return read_token_file(path)
    except Refused as exc:
        raise CoreError(str(exc)) from exc
