"""Decides where a file request runs: in the event loop, in a thread if it may be slow, or in a confined helper."""

from __future__ import annotations

import inspect
import os
from collections.abc import Coroutine
from contextlib import closing
from typing import Any, Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.execserver.errors import file_error
from codex_mcp.execserver.files.answer_budget import AnswerBudget, HeldAnswer
from codex_mcp.execserver.files.operations import OPERATIONS, native
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.wire.exec import files as fs

Answer: TypeAlias = object | Coroutine[Any, Any, object]

QUICK_BYTES: Final = 256 * 1024
"""Files up to this size are read or written in the event loop: that is faster than waking a thread."""


class Files:
    """All `fs/*` requests that need no handle."""

    def __init__(self, confinement: Confinement, budget: AnswerBudget) -> None:
        self._confinement = confinement
        self._budget = budget

    def read_file(self, asked: fs.ReadFile) -> Answer:
        """The content of a large file is a HeldAnswer."""
        size = _size_of(asked.path)
        is_large = size > QUICK_BYTES
        answer = self.answer(asked, writes=False, is_slow=is_large)
        return self._hold(answer, size) if is_large and inspect.iscoroutine(answer) else answer

    async def _hold(self, work: Coroutine[Any, Any, object], size: int) -> HeldAnswer:
        with closing(work):
            await self._budget.take(size)
            try:
                return HeldAnswer(await work, size)
            except BaseException:
                self._budget.give_back(size)
                raise

    def write_file(self, asked: fs.WriteFile) -> Answer:
        return self.answer(asked, writes=True, is_slow=len(asked.data_base64) > QUICK_BYTES)

    def answer(self, asked: Any, *, writes: bool, is_slow: bool) -> Answer:
        """Do a request. `writes`: it changes files; `is_slow`: it may block for long."""
        if asked.sandbox is not None and self._confinement.needs_helper(asked.sandbox, writes=writes):
            return self._confinement.file_request(asked)
        if writes:
            self._confinement.release_placeholders()
        return self._in_thread(asked) if is_slow else _done(asked)

    async def _in_thread(self, asked: Struct) -> object:
        return await in_thread(_done, asked)


def _done(asked: Struct) -> object:
    try:
        return OPERATIONS[type(asked)](asked)
    except OSError as exc:
        raise file_error(exc) from None


def _size_of(uri: str) -> int:
    try:
        return os.stat(native(uri)).st_size
    except OSError:
        return 0  # the operation itself will report the error
