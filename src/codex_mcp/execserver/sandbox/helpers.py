"""Owns the helpers: starts them on need, asks them, keeps them a while for the next request, and ends them all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.execserver.errors import internal_error
from codex_mcp.execserver.launch import Launch
from codex_mcp.execserver.sandbox.helper import Helper, HelperDied
from codex_mcp.execserver.sandbox.helper_messages import Question, Reply
from codex_mcp.execserver.sandbox.helper_shelf import HelperShelf, ViewKey
from codex_mcp.rpc.errors import RequestFailed

logger = logging.getLogger(__name__)

MAX_HELPERS: Final = 8
"""At once, each with some 15 MiB. Further requests wait for one; the disk has no more to give anyway."""

KEPT: Final = 2.0
"""Seconds that a helper waits for the next request. A patch asks for many files within milliseconds; and the empty
folders that a view needs are there for everybody to see, so it shall not be long."""

TRIES: Final = 2
"""Starts for one request, if nothing of it was done: somebody may have exchanged a folder just then."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A helper that could be started, and what its view is made of."""

    key: ViewKey
    launch: Callable[[], Launch]
    held: ExitStack
    """What the view needs, and what `launch` adds to it."""
    holds_places: bool
    """There are folders that would not be there without it."""


@dataclass(frozen=True, slots=True)
class _Kept:
    helper: Helper
    holds_places: bool


class Helpers:
    """All helpers of a server."""

    def __init__(self, kept: float = KEPT) -> None:
        """`kept` is how long a helper waits for the next request, in seconds."""
        self._kept = kept
        self._shelf: HelperShelf[_Kept] = HelperShelf(MAX_HELPERS, kept)
        self._turns = asyncio.Semaphore(MAX_HELPERS)
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._shelf)

    def __repr__(self) -> str:
        return f"<Helpers {self._shelf!r}>"

    async def ask(self, prepare: Callable[[], Prepared], asked: Struct) -> tuple[object, int | None]:
        """Have a request done in the view that `prepare` makes; the answer, and an open file if there is one. Raises
        RequestFailed."""
        question = msgspec.json.encode(Question(type(asked).__name__, Raw(msgspec.json.encode(asked))))
        async with self._turns:
            for _ in range(TRIES):
                prepared = prepare()
                try:
                    encoded, descriptor = await self._ask_one(prepared, question)
                except HelperDied as exc:
                    if exc.has_begun:
                        text = "the file helper ended in the middle of the request; it may have done a part of it"
                        raise internal_error(text) from None
                    self._drop_all_like(prepared.key)
                else:
                    return _result(encoded), descriptor
        raise internal_error("the sandbox could not be set up; the server's log says why")

    async def _ask_one(self, prepared: Prepared, question: bytes) -> tuple[bytes, int | None]:
        kept = self._take(prepared)
        try:
            answer = await kept.helper.ask(question)
        except BaseException:
            self._shelf.lost()
            self._end([kept])
            raise
        self._put_back(kept, prepared.key)
        return answer

    def _take(self, prepared: Prepared) -> _Kept:
        kept, ended = self._shelf.take(prepared.key)
        try:
            if kept is None:
                kept = _Kept(_started(prepared), prepared.holds_places)
            else:
                asyncio.get_running_loop().remove_reader(kept.helper.pidfd)
                prepared.held.close()
        except BaseException:
            self._shelf.lost()
            raise
        finally:
            # Not before the new one: it may need the same folders.
            self._end(ended)
        return kept

    def _put_back(self, kept: _Kept, key: ViewKey) -> None:
        loop = asyncio.get_running_loop()
        self._shelf.put_back(kept, key, loop.time())
        if self._is_closed:
            self.close()
            return
        loop.add_reader(kept.helper.pidfd, self._died, kept)
        if self._timer is None:
            self._timer = loop.call_later(self._kept, self._expire)

    def _drop_all_like(self, key: ViewKey) -> None:
        """What ended one may have ended its like."""
        self._end(self._shelf.remove(lambda one: one.key == key))

    def _died(self, dead: _Kept) -> None:
        """One that waited has ended by itself."""
        self._end(self._shelf.remove(lambda one: one.helper is dead))

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._end(self._shelf.expire(loop.time()))
        at = self._shelf.next_expiry()
        self._timer = None if at is None else loop.call_at(at, self._expire)

    def _end(self, ended: list[_Kept]) -> None:
        for kept in ended:
            asyncio.get_running_loop().remove_reader(kept.helper.pidfd)
            kept.helper.end()

    def make_way(self) -> None:
        """Somebody is about to work without limits, and shall not find the folders of those who only wait."""
        if len(self._shelf):
            self._end(self._shelf.remove(lambda one: one.helper.holds_places))

    def close(self) -> None:
        """End all that wait; those that still work end with their requests. Twice is fine."""
        self._is_closed = True
        if len(self._shelf):
            self._end(self._shelf.remove(lambda _one: True))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _started(prepared: Prepared) -> Helper:
    with prepared.held as held:
        return Helper(prepared.launch(), held.pop_all())


def _result(encoded: bytes) -> object:
    reply = msgspec.json.decode(encoded, type=Reply)
    if reply.error is not None:
        raise RequestFailed(reply.error)
    return reply.result
