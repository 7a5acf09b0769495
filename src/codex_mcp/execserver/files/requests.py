"""The file requests: done here, in a thread if they may take long, or by the confined helper if they are confined."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import closing
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct

from codex_mcp.execserver.errors import file_error
from codex_mcp.execserver.files.answer_budget import AnswerBudget, HeldAnswer
from codex_mcp.execserver.files.operations import WORK, native
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.wire.exec import files as fs

T = TypeVar("T")
Answer: TypeAlias = object | Coroutine[Any, Any, object]

QUICK_BYTES: Final = 256 * 1024
"""Up to this size a file is read or written at once: it takes less than to wake a thread for it."""


class Files:
    """All of `fs/*` that needs no handle."""

    def __init__(self, confinement: Confinement, budget: AnswerBudget) -> None:
        self._confinement = confinement
        self._budget = budget

    def read_file(self, asked: fs.ReadFile) -> Answer:
        """`fs/readFile`. The content of a large file is a HeldAnswer."""
        size = _size_of(asked.path)
        if self._is_confined(asked, writes=False):
            return self._confined(asked) if size <= QUICK_BYTES else self._held(self._confined(asked), size)
        return self._here(asked) if size <= QUICK_BYTES else self._held(self._aside(asked), size)

    async def _held(self, work: Coroutine[Any, Any, object], size: int) -> HeldAnswer:
        with closing(work):
            await self._budget.take(size)
            try:
                return HeldAnswer(await work, size)
            except BaseException:
                self._budget.give_back(size)
                raise

    def write_file(self, asked: fs.WriteFile) -> Answer:
        """`fs/writeFile`."""
        if self._is_confined(asked, writes=True):
            return self._confined(asked)
        return self._here(asked) if len(asked.data_base64) <= QUICK_BYTES else self._aside(asked)

    def create_directory(self, asked: fs.CreateDirectory) -> Answer:
        """`fs/createDirectory`."""
        return self._confined(asked) if self._is_confined(asked, writes=True) else self._here(asked)

    def get_metadata(self, asked: fs.GetMetadata) -> Answer:
        """`fs/getMetadata`."""
        return self._confined(asked) if self._is_confined(asked, writes=False) else self._here(asked)

    def canonicalize(self, asked: fs.Canonicalize) -> Answer:
        """`fs/canonicalize`."""
        return self._confined(asked) if self._is_confined(asked, writes=False) else self._here(asked)

    def read_directory(self, asked: fs.ReadDirectory) -> Answer:
        """`fs/readDirectory`."""
        return self._confined(asked) if self._is_confined(asked, writes=False) else self._aside(asked)

    def walk(self, asked: fs.Walk) -> Answer:
        """`fs/walk`."""
        return self._confined(asked) if self._is_confined(asked, writes=False) else self._aside(asked)

    def remove(self, asked: fs.Remove) -> Answer:
        """`fs/remove`."""
        return self._confined(asked) if self._is_confined(asked, writes=True) else self._aside(asked)

    def copy(self, asked: fs.Copy) -> Answer:
        """`fs/copy`."""
        return self._confined(asked) if self._is_confined(asked, writes=True) else self._aside(asked)

    def _is_confined(self, asked: Any, *, writes: bool) -> bool:
        is_confined = asked.sandbox is not None and self._confinement.needs_helper(asked.sandbox, writes=writes)
        if writes and not is_confined:
            self._confinement.make_way()
        return is_confined

    def _here(self, asked: Struct) -> object:
        try:
            return WORK[type(asked)](asked)
        except OSError as exc:
            raise file_error(exc) from None

    async def _aside(self, asked: Struct) -> object:
        return await asyncio.get_running_loop().run_in_executor(None, self._here, asked)

    async def _confined(self, asked: Struct) -> object:
        return await self._confinement.file_request(asked)


def _size_of(uri: str) -> int:
    try:
        return os.stat(native(uri)).st_size
    except OSError:
        return 0  # whatever is wrong is told by the one who reads
