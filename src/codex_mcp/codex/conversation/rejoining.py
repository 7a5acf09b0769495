"""Threads that the core has loaded already, because it has outlived the server that opened them."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from codex_mcp.codex.core import OpenedThread
from codex_mcp.codex.facts import TokensCounted, fact_of
from codex_mcp.codex.reading import read_notification
from codex_mcp.codex.taps import Taps
from codex_mcp.wire.app import requests
from codex_mcp.wire.app.history import ReadThread, ReadThreadAnswer, StoredTurn, ThreadWithTurns
from codex_mcp.wire.jsonrpc import Notification

Answer = TypeVar("Answer")

COUNT_PATIENCE: Final = 1.0
"""Seconds for a count of tokens, which follows an answer at once. There is none if nothing was used yet."""


class LivingCore(Protocol):
    """An app-server."""

    taps: Taps

    async def request(
        self, method: str, params: object, answer_type: type[Answer], timeout: float | None = None
    ) -> Answer: ...


class Rejoined(Struct, frozen=True):
    opened: OpenedThread
    turns: tuple[StoredTurn, ...]
    """The oldest first."""


async def rejoin_thread(core: LivingCore, thread_id: str) -> Rejoined:
    """Hear of a thread that is loaded, and of what has happened in it. Its settings stay as they are.

    What it asks is asked again. Raises CoreError.
    """
    asked = requests.ThreadResume(thread_id=thread_id, exclude_turns=False)  # without turns no tokens would follow
    raw = await core.request("thread/resume", asked, Raw)
    answer = msgspec.json.decode(raw, type=requests.ThreadOpened)
    turns = msgspec.json.decode(raw, type=ThreadWithTurns).thread.turns
    return Rejoined(OpenedThread(thread_id, answer.cwd, answer.thread.path, answer), tuple(turns))


async def is_active(core: LivingCore, thread_id: str) -> bool:
    """Whether a turn runs in it. Then its settings do not change, whatever is asked for. Raises CoreError."""
    found = await core.request("thread/read", ReadThread(thread_id), ReadThreadAnswer)
    return found.thread.status.type == "active"


async def counted(core: LivingCore, thread_id: str) -> TokensCounted | None:
    """What a thread that was rejoined just now has used; None if the core says nothing."""
    said = asyncio.Event()
    remove = core.taps.add(thread_id, _Waking(said))
    try:
        async with asyncio.timeout(COUNT_PATIENCE):
            while core.taps.tokens(thread_id) is None:
                said.clear()
                await said.wait()
    except TimeoutError:
        return None
    finally:
        remove()
    told = core.taps.tokens(thread_id)
    note = None if told is None else read_notification(told.method, told.params)
    fact = None if note is None else fact_of(note)
    return fact if isinstance(fact, TokensCounted) else None


class _Waking:
    """Listens until something is said."""

    def __init__(self, said: asyncio.Event) -> None:
        self._said = said

    def notified(self, message: Notification) -> None:
        self._said.set()

    def core_gone(self) -> None:
        self._said.set()
