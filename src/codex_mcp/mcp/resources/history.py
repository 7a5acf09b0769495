"""What Codex has kept of a thread: its turns, asked of the core, and its rollout file, read from disk in bounds."""

from __future__ import annotations

import base64
import os
import re
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import opened
from codex_mcp.codex.core import AnswerUnreadable, Core, CoreError
from codex_mcp.threads.threads import Threads
from codex_mcp.wire.app.history import ListTurns, ReadThread, ReadThreadAnswer, StoredThread, StoredTurn, TurnPage

TURNS_AT_ONCE: Final = 20
"""Turns in one answer of the core. It sends nothing else meanwhile, so an answer must not take long."""

FOLDERS: Final = ("sessions", "archived_sessions")
"""Where Codex keeps rollout files, below CODEX_HOME."""

NAME_END: Final = r"-{}(_[0-9a-f-]+)?\.jsonl(\.zst)?\Z"
"""How the file's name ends; after a rollback it has another id behind that of the thread."""


class Turns(Struct, frozen=True):
    """Turns of a thread, in order."""

    turns: list[StoredTurn]
    is_cut: bool
    """Earlier turns are missing."""


class Piece(Struct, frozen=True):
    """A part of a rollout file that ends with a line."""

    data: bytes
    end: int
    """The byte after it."""
    size: int
    """Of the whole file."""

    def content(self) -> dict[str, object]:
        """As MCP wants it: a text, or base64 if the file is damaged."""
        try:
            return {"text": self.data.decode()}
        except UnicodeDecodeError:
            return {"blob": base64.b64encode(self.data).decode()}


class ThreadHistory:
    def __init__(self, threads: Threads, codex_home: str, limit: int) -> None:
        """`limit`: bytes that are read for one answer."""
        self._threads = threads
        self._home = codex_home
        self._limit = limit

    async def thread(self, thread_id: str) -> StoredThread:
        """What the core knows of the thread. Raises CoreError or Refused."""
        core = await self._threads.supervisor.core()
        return (await core.request("thread/read", ReadThread(thread_id), ReadThreadAnswer)).thread

    async def turns(self, thread: StoredThread) -> Turns:
        """The newest turns of a thread, as many as fit. Raises CoreError or Refused."""
        if thread.path is None or not await in_thread(os.path.exists, thread.path):
            return Turns([], is_cut=False)  # it had no turn yet
        core = await self._threads.supervisor.core()
        cursor: str | UnsetType = UNSET
        found: list[StoredTurn] = []
        room = self._limit
        while True:
            try:
                raw = await _page(core, thread.id, cursor)
            except AnswerUnreadable:
                break
            page = await in_thread(msgspec.json.decode, raw, type=TurnPage)
            room -= len(bytes(raw))
            found += page.data
            if page.next_cursor is None or not page.data:
                return Turns(found[::-1], is_cut=False)
            cursor = page.next_cursor
            if room <= 0:
                break
        return Turns(found[::-1], is_cut=True)

    async def rollout(self, thread: StoredThread, begin: int) -> Piece:
        """A part of the rollout file, from this byte on. Raises Refused if it is not a file of this thread."""
        if thread.path is None:
            raise Refused(f"thread {thread.id} has no rollout file")
        return await in_thread(read_history, self._home, thread, begin, self._limit)


async def _page(core: Core, thread_id: str, cursor: str | UnsetType) -> Raw:
    """A page of turns, or a single turn if a page is too long to be read. Raises CoreError."""
    try:
        return await core.request("thread/turns/list", ListTurns(thread_id, TURNS_AT_ONCE, cursor), Raw)
    except AnswerUnreadable:
        return await core.request("thread/turns/list", ListTurns(thread_id, 1, cursor), Raw)


def read_history(home: str, thread: StoredThread, begin: int, limit: int) -> Piece:
    """Blocks. Raises Refused, or CoreError if the file cannot be read."""
    path = os.path.realpath(thread.path or "")
    is_own = re.search(NAME_END.format(re.escape(thread.id)), os.path.basename(path)) is not None
    if not is_own or not any(path.startswith(os.path.realpath(os.path.join(home, each)) + os.sep) for each in FOLDERS):
        raise Refused(f"the rollout file of thread {thread.id} is not where Codex keeps its files")
    try:
        with opened(path, links=False) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(begin)
            data = file.read(limit)
    except FileNotFoundError:  # a thread without a turn has none yet
        return Piece(b"", 0, 0)
    except OSError as exc:
        raise CoreError(f"cannot read the rollout file of thread {thread.id}: {exc.strerror}") from exc
    end = begin + len(data)
    if end < size and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
        end = begin + len(data)
    return Piece(data, end, size)
