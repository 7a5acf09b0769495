"""Files on the server's machine.

Paths are absolute paths or file: URIs. Results contain URIs; `base.file_uris.path_from_uri` converts them to paths.
Requests are not repeated after a lost connection: the caller gets OutcomeUnknown.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from codex_mcp.base.file_uris import uri_from_path
from codex_mcp.execclient.connection import Connection
from codex_mcp.execclient.errors import ExecServerError, NotOffered
from codex_mcp.execclient.link import Link, outcome_unknown
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.rpc.peer import PendingCall
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.base64 import encode_base64
from codex_mcp.wire.exec.protocol import Empty
from codex_mcp.wire.exec.sandbox import Sandbox

BLOCK_BYTES: Final = 1 << 20
"""The largest block that servers read or write at once."""

BLOCKS_AHEAD: Final = 4
"""Blocks requested ahead in one stream: enough to hide the round trip, at 4 MiB of memory."""

HANDLE_CHARACTERS: Final = 16
"""Length of a random file handle; servers accept up to 32 bytes."""

EVERYTHING: Final = fs.WalkOptions(
    max_depth=64, max_directories=10_000, max_entries=50_000, follow_directory_symlinks=False
)
"""The largest walk that servers accept."""


def file_uri(path: str) -> str:
    """The URI of an absolute path; a URI is returned unchanged. Raises ExecServerError."""
    if path.startswith("file:"):
        return path
    if not path.startswith("/"):
        raise ExecServerError(f"cannot use the relative path {path!r}: give an absolute path on the server's machine")
    return uri_from_path(path, safe="/")  # so that no name looks like a drive letter


class Watches:
    """The client's `fs/watchMissing` watches. A lost connection ends them, and sets their events."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._events: dict[int, asyncio.Event] = {}
        self._ids = itertools.count(1)

    @contextlib.asynccontextmanager
    async def watch(self, missing: Sequence[str], present: str | None = None) -> AsyncIterator[asyncio.Event]:
        """An event that is set when one of these paths may exist or the watch was lost. Raises NotOffered."""
        if not self._link.capabilities.fs_watch_missing:
            raise NotOffered("cannot watch for files: this exec-server does not support it")
        watch_id = next(self._ids)
        changed = self._events[watch_id] = asyncio.Event()
        uris = [file_uri(path) for path in missing]
        params = fs.WatchMissing(watch_id, uris, None if present is None else file_uri(present))
        try:
            if not (await self._link.call("fs/watchMissing", params, fs.Watching)).watching:
                changed.set()
            yield changed
        finally:
            del self._events[watch_id]

    def missing_changed(self, watch_id: int) -> None:
        if (changed := self._events.get(watch_id)) is not None:
            changed.set()

    def connection_lost(self) -> None:
        for changed in self._events.values():
            changed.set()


class RemoteFiles:
    def __init__(self, link: Link, watches: Watches, sandbox: Sandbox | None = None) -> None:
        self._link = link
        self._watches = watches
        self._sandbox = sandbox

    def confined(self, sandbox: Sandbox) -> RemoteFiles:
        """The same files, limited by a sandbox. (The protocol has no sandbox for watches.)"""
        return RemoteFiles(self._link, self._watches, sandbox)

    async def read_file(self, path: str, *, follow_symlinks: bool | None = None) -> bytes:
        """The content of a regular file. Use `read_stream` for large files."""
        params = fs.ReadFile(file_uri(path), follow_symlinks, self._sandbox)
        return (await self._link.call("fs/readFile", params, fs.FileRead)).data_base64

    async def write_file(self, path: str, data: bytes, *, follow_symlinks: bool | None = None) -> None:
        """Create or replace a file. Use `write_stream` above about 10 MiB: the whole file is sent in one message."""
        params = fs.WriteFile(file_uri(path), encode_base64(data), follow_symlinks, self._sandbox)
        await self._link.call("fs/writeFile", params, Empty)

    async def create_directory(
        self, path: str, *, recursive: bool | None = None, follow_symlinks: bool | None = None
    ) -> None:
        """Create a directory. Unless `recursive` is false, also its parents, and an existing one is not an error."""
        params = fs.CreateDirectory(file_uri(path), recursive, follow_symlinks, self._sandbox)
        await self._link.call("fs/createDirectory", params, Empty)

    async def get_metadata(self, path: str, *, follow_symlinks: bool | None = None) -> fs.Metadata:
        """Type, size and times. Raises PathNotFound."""
        params = fs.GetMetadata(file_uri(path), follow_symlinks, self._sandbox)
        return await self._link.call("fs/getMetadata", params, fs.Metadata)

    async def canonicalize(self, path: str) -> str:
        """The URI with all symbolic links resolved."""
        params = fs.Canonicalize(file_uri(path), self._sandbox)
        return (await self._link.call("fs/canonicalize", params, fs.CanonicalPath)).path

    async def read_directory(self, path: str) -> list[fs.DirectoryEntry]:
        """The entries of a directory, unordered."""
        params = fs.ReadDirectory(file_uri(path), self._sandbox)
        return (await self._link.call("fs/readDirectory", params, fs.DirectoryRead)).entries

    async def walk(self, path: str, options: fs.WalkOptions = EVERYTHING) -> fs.Walked:
        return await self._link.call("fs/walk", fs.Walk(file_uri(path), options, self._sandbox), fs.Walked)

    async def remove(
        self,
        path: str,
        *,
        recursive: bool | None = None,
        force: bool | None = None,
        follow_symlinks: bool | None = None,
    ) -> None:
        """Remove a file or a directory tree. `recursive` and `force` (ignore a missing path) default to true."""
        params = fs.Remove(file_uri(path), recursive, force, follow_symlinks, self._sandbox)
        await self._link.call("fs/remove", params, Empty)

    async def copy(self, source: str, destination: str, *, recursive: bool = False) -> None:
        """Copy a file, a symbolic link (as a link) or, with `recursive`, a directory."""
        params = fs.Copy(file_uri(source), file_uri(destination), recursive, self._sandbox)
        await self._link.call("fs/copy", params, Empty)

    async def read_stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """The content of a file of any size, in blocks. A lost connection closes the handle and ends the stream."""
        async with self._open(path, fs.OpenMode.READ) as (connection, handle):
            pending: deque[PendingCall] = deque()
            offsets = itertools.count(0, BLOCK_BYTES)
            try:
                while True:
                    while len(pending) < BLOCKS_AHEAD:
                        block = fs.ReadBlock(handle, next(offsets), BLOCK_BYTES)
                        pending.append(connection.start("fs/readBlock", block))
                    answer = await connection.answer("fs/readBlock", pending.popleft(), fs.BlockRead)
                    if answer.chunk:
                        yield answer.chunk
                    if answer.eof:
                        return
            finally:
                for call in pending:
                    connection.forget(call)

    async def write_stream(self, path: str, chunks: AsyncIterable[bytes]) -> int:
        """Create or replace a file of any size; return its size. Raises NotOffered."""
        if not self._link.capabilities.file_write_streaming:
            raise NotOffered("cannot write a file in blocks: this exec-server does not support it; use write_file")
        offset = 0
        async with self._open(path, fs.OpenMode.REPLACE) as (connection, handle):
            async for chunk in chunks:
                for start in range(0, len(chunk), BLOCK_BYTES):
                    piece = chunk[start : start + BLOCK_BYTES]
                    await connection.call("fs/writeBlock", fs.WriteBlock(handle, offset, encode_base64(piece)), Empty)
                    offset += len(piece)
        return offset

    def watch_missing(
        self, missing: Sequence[str], present: str | None = None
    ) -> AbstractAsyncContextManager[asyncio.Event]:
        """For `async with`: an event that is set when one of these paths may exist or the watch was lost."""
        return self._watches.watch(missing, present)

    @contextlib.asynccontextmanager
    async def _open(self, path: str, mode: fs.OpenMode) -> AsyncIterator[tuple[Connection, str]]:
        connection = await self._link.current()
        handle = secrets.token_hex(HANDLE_CHARACTERS // 2)
        try:
            await connection.call("fs/open", fs.OpenFile(handle, file_uri(path), mode, self._sandbox), fs.FileOpened)
            try:
                yield connection, handle
            finally:
                await connection.call("fs/close", fs.CloseFile(handle), Empty)
        except ConnectionLost as exc:
            raise outcome_unknown(f"the {mode} of {path}") from exc
