"""Owns the helpers: starts them when needed, sends them requests, keeps them for later requests, and ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.execserver.errors import internal_error
from codex_mcp.execserver.launch import ProcessSpec
from codex_mcp.execserver.sandbox.helper import Helper, HelperDied
from codex_mcp.execserver.sandbox.helper_pool_state import HelperPoolState, ViewKey
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.helper import HelperRequest, HelperResponse

MAX_HELPERS: Final = 8
"""At once, each with about 15 MiB. Further requests wait; the disk would not be faster with more."""

MAX_IDLE: Final = 2.0
"""Seconds that an idle helper is kept. A patch makes many requests within milliseconds; but the placeholders of a view
are visible to other programs, so it must not be long."""

TRIES: Final = 2
"""Starts for one request if none of it was done: a folder may have been replaced in between."""


class PreparedView(Struct, frozen=True):
    key: ViewKey
    launch: Callable[[], ProcessSpec]
    held: ExitStack
    """The resources of the view; `launch` adds to them."""
    holds_placeholders: bool
    """Empty folders exist only because of this view."""


class _PooledHelper(Struct, frozen=True, eq=False):
    helper: Helper
    holds_placeholders: bool


class HelperPool:
    def __init__(self, max_idle: float = MAX_IDLE) -> None:
        self._max_idle = max_idle
        self._state: HelperPoolState[_PooledHelper] = HelperPoolState(MAX_HELPERS, max_idle)
        self._turns = asyncio.Semaphore(MAX_HELPERS)
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._state)

    async def ask(self, prepare: Callable[[], PreparedView], asked: Struct) -> tuple[object, int | None]:
        """Do a request in the view made by `prepare`; the answer, and the descriptor of an opened file. Raises
        RequestFailed."""
        request = msgspec.json.encode(HelperRequest(type(asked).__name__, Raw(msgspec.json.encode(asked))))
        async with self._turns:
            for _ in range(TRIES):
                view = prepare()
                try:
                    encoded, descriptor = await self._ask_one(view, request)
                except HelperDied as exc:
                    if exc.has_begun:
                        text = "the file helper ended during the request; part of it may have been done"
                        raise internal_error(text) from None
                    key = view.key  # the cause may have ended other helpers of this view too
                    self._end(self._state.remove(lambda one, key=key: one.key == key))  # type: ignore[misc]
                else:
                    return _result(encoded), descriptor
        raise internal_error("the sandbox could not be set up; see the server's log")

    async def _ask_one(self, view: PreparedView, request: bytes) -> tuple[bytes, int | None]:
        pooled = self._take(view)
        try:
            answer = await pooled.helper.ask(request)
        except BaseException:
            self._state.lost()
            self._end([pooled])
            raise
        self._put_back(pooled, view.key)
        return answer

    def _take(self, view: PreparedView) -> _PooledHelper:
        pooled, ended = self._state.take(view.key)
        try:
            if pooled is None:
                with view.held as held:
                    pooled = _PooledHelper(Helper(view.launch(), held.pop_all()), view.holds_placeholders)
            else:
                asyncio.get_running_loop().remove_reader(pooled.helper.pidfd)
                view.held.close()
        except BaseException:
            self._state.lost()
            raise
        finally:
            # After the start of the new helper, which may need the same placeholders.
            self._end(ended)
        return pooled

    def _put_back(self, pooled: _PooledHelper, key: ViewKey) -> None:
        loop = asyncio.get_running_loop()
        self._state.put_back(pooled, key, loop.time())
        if self._is_closed:
            self.close()
            return
        loop.add_reader(pooled.helper.pidfd, self._idle_helper_died, pooled)
        if self._timer is None:
            self._timer = loop.call_later(self._max_idle, self._expire)

    def _idle_helper_died(self, dead: _PooledHelper) -> None:
        self._end(self._state.remove(lambda one: one.helper is dead))

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._end(self._state.expire(loop.time()))
        at = self._state.next_expiry()
        self._timer = None if at is None else loop.call_at(at, self._expire)

    def _end(self, ended: list[_PooledHelper]) -> None:
        for pooled in ended:
            asyncio.get_running_loop().remove_reader(pooled.helper.pidfd)
            pooled.helper.end()

    def release_placeholders(self) -> None:
        """End idle helpers that hold placeholders, before something runs without a sandbox and would see them."""
        if len(self._state):
            self._end(self._state.remove(lambda one: one.helper.holds_placeholders))

    def close(self) -> None:
        self._is_closed = True
        if len(self._state):
            self._end(self._state.remove(lambda _one: True))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _result(encoded: bytes) -> object:
    response = msgspec.json.decode(encoded, type=HelperResponse)
    if response.error is not None:
        raise RequestFailed(response.error)
    return response.result
