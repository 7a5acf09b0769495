"""The files of the server's machine.

Paths are absolute, or file: URIs. Answers hold URIs; `uris.file_path` reads them.

Requests are not repeated after a broken connection: whoever asked is told that the outcome is unknown.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from typing import Final

from codex_mcp.execclient.connection import Connection
from codex_mcp.execclient.errors import NotOffered
from codex_mcp.execclient.link import Link, outcome_unknown
from codex_mcp.execclient.uris import file_uri
from codex_mcp.execclient.watches import Watch, Watches
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.wire.exec.base64 import encode_base64
from codex_mcp.wire.exec.files import (
    BlockRead,
    Canonicalize,
    CanonicalPath,
    CloseFile,
    Copy,
    CreateDirectory,
    DirectoryEntry,
    DirectoryRead,
    FileOpened,
    FileRead,
    GetMetadata,
    Metadata,
    OpenFile,
    OpenMode,
    ReadBlock,
    ReadDirectory,
    ReadFile,
    Remove,
    Walk,
    Walked,
    WalkOptions,
    WriteBlock,
    WriteFile,
)
from codex_mcp.wire.exec.protocol import Empty
from codex_mcp.wire.exec.sandbox import Sandbox

BLOCK_BYTES: Final = 1 << 20
"""The largest block that servers read or write at once."""

BLOCKS_AHEAD: Final = 4
"""Blocks of one stream on their way at once: enough to hide the round trip, and 4 MiB of memory."""

HANDLE_CHARACTERS: Final = 16
"""Of a file handle's random name; servers take up to 32 bytes."""

EVERYTHING: Final = WalkOptions(
    max_depth=64, max_directories=10_000, max_entries=50_000, follow_directory_symlinks=False
)
"""A walk as far as servers go."""


class RemoteFiles:
    """All of fs/*. `confined(sandbox)` gives the same files through a sandbox."""

    def __init__(self, link: Link, watches: Watches, sandbox: Sandbox | None = None) -> None:
        self._link = link
        self._watches = watches
        self._sandbox = sandbox

    def confined(self, sandbox: Sandbox) -> RemoteFiles:
        """The same files, as far as the sandbox lets one. (Watches have none in the protocol.)"""
        return RemoteFiles(self._link, self._watches, sandbox)

    async def read_file(self, path: str, *, follow_symlinks: bool | None = None) -> bytes:
        """A regular file, whole. For large ones `read_stream` is kinder to both ends."""
        params = ReadFile(file_uri(path), follow_symlinks, self._sandbox)
        return (await self._link.call("fs/readFile", params, FileRead)).data_base64

    async def write_file(self, path: str, data: bytes, *, follow_symlinks: bool | None = None) -> None:
        """Create or replace a file. Above some 10 MiB use `write_stream`: one message must hold all of it."""
        params = WriteFile(file_uri(path), encode_base64(data), follow_symlinks, self._sandbox)
        await self._link.call("fs/writeFile", params, Empty)

    async def create_directory(
        self, path: str, *, recursive: bool | None = None, follow_symlinks: bool | None = None
    ) -> None:
        """Make a directory; with its parents, and no error if it is there, unless told otherwise."""
        params = CreateDirectory(file_uri(path), recursive, follow_symlinks, self._sandbox)
        await self._link.call("fs/createDirectory", params, Empty)

    async def get_metadata(self, path: str, *, follow_symlinks: bool | None = None) -> Metadata:
        """What is there? Raises PathNotFound."""
        return await self._link.call(
            "fs/getMetadata", GetMetadata(file_uri(path), follow_symlinks, self._sandbox), Metadata
        )

    async def canonicalize(self, path: str) -> str:
        """The URI without links."""
        return (
            await self._link.call("fs/canonicalize", Canonicalize(file_uri(path), self._sandbox), CanonicalPath)
        ).path

    async def read_directory(self, path: str) -> list[DirectoryEntry]:
        """The names in a directory, in no order."""
        params = ReadDirectory(file_uri(path), self._sandbox)
        return (await self._link.call("fs/readDirectory", params, DirectoryRead)).entries

    async def walk(self, path: str, options: WalkOptions = EVERYTHING) -> Walked:
        """Everything below a directory."""
        return await self._link.call("fs/walk", Walk(file_uri(path), options, self._sandbox), Walked)

    async def remove(
        self,
        path: str,
        *,
        recursive: bool | None = None,
        force: bool | None = None,
        follow_symlinks: bool | None = None,
    ) -> None:
        """Remove it; with all below it, and no error if it is not there, unless told otherwise."""
        params = Remove(file_uri(path), recursive, force, follow_symlinks, self._sandbox)
        await self._link.call("fs/remove", params, Empty)

    async def copy(self, source: str, destination: str, *, recursive: bool = False) -> None:
        """Copy a file, a link as a link, or a directory if `recursive`."""
        params = Copy(file_uri(source), file_uri(destination), recursive, self._sandbox)
        await self._link.call("fs/copy", params, Empty)

    async def read_stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """A file of any size, in blocks. A broken connection ends it: the handle goes with it."""
        async with self._opened(path, OpenMode.READ) as (connection, handle):
            pending: deque[PendingCall] = deque()
            offsets = itertools.count(0, BLOCK_BYTES)
            try:
                while True:
                    while len(pending) < BLOCKS_AHEAD:
                        block = ReadBlock(handle, next(offsets), BLOCK_BYTES)
                        pending.append(connection.start("fs/readBlock", block))
                    answer = await connection.answer("fs/readBlock", pending.popleft(), BlockRead)
                    if answer.chunk:
                        yield answer.chunk
                    if answer.eof:
                        return
            finally:
                for call in pending:
                    connection.forget(call)

    async def write_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        """Create or replace a file of any size; return how many bytes it has now. Raises NotOffered."""
        if not self._link.capabilities.file_write_streaming:
            raise NotOffered("cannot write a file in blocks: this exec-server does not offer it; use write_file")
        offset = 0
        async with self._opened(path, OpenMode.REPLACE) as (connection, handle):
            async for chunk in chunks:
                for start in range(0, len(chunk), BLOCK_BYTES):
                    piece = chunk[start : start + BLOCK_BYTES]
                    params = WriteBlock(handle, offset, encode_base64(piece))
                    await connection.call("fs/writeBlock", params, Empty)
                    offset += len(piece)
        return offset

    def watch_missing(self, missing: Sequence[str], present: str | None = None) -> Watch:
        """`async with` this: an event that is set when one of these paths may exist, or when the watch was lost."""
        return self._watches.watch(missing, present)

    @contextlib.asynccontextmanager
    async def _opened(self, path: str, mode: OpenMode) -> AsyncIterator[tuple[Connection, str]]:
        connection = await self._link.current()
        handle = secrets.token_hex(HANDLE_CHARACTERS // 2)
        try:
            await connection.call("fs/open", OpenFile(handle, file_uri(path), mode, self._sandbox), FileOpened)
            try:
                yield connection, handle
            finally:
                await connection.call("fs/close", CloseFile(handle), Empty)
        except ConnectionLost as exc:
            raise outcome_unknown(f"the {mode} of {path}") from exc
