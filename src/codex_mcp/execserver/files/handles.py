"""Open files of one connection, read and written in blocks by handles that the client chose."""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import Any, Final

from codex_mcp.execserver.errors import file_error, invalid_params, invalid_request, not_found
from codex_mcp.execserver.files.operations import native, open_to_read, open_to_write
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.base64 import BadBase64, decode_base64
from codex_mcp.wire.exec.protocol import Empty

MAX_HANDLES: Final = 128
MAX_ID_BYTES: Final = 32
MAX_BLOCK: Final = 1024 * 1024
MAX_OFFSET: Final = 2**63 - 1
"""The real server's limits."""


class FileHandles:
    def __init__(self, confinement: Confinement) -> None:
        self._confinement = confinement
        self._open: dict[str, int | None] = {}
        """None for a file that is being opened."""

    def __len__(self) -> int:
        return len(self._open)

    def open(self, asked: fs.OpenFile) -> fs.FileOpened | Coroutine[Any, Any, fs.FileOpened]:
        if len(asked.handle_id.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES:
            raise invalid_request(f"file handle ID must not exceed {MAX_ID_BYTES} bytes")
        if asked.handle_id in self._open:
            raise invalid_request(f"file handle `{asked.handle_id}` already exists")
        if len(self._open) >= MAX_HANDLES:
            raise invalid_request(f"too many open files: {MAX_HANDLES} at most")
        writes = asked.mode is fs.OpenMode.REPLACE
        if asked.sandbox is not None and self._confinement.needs_helper(asked.sandbox, writes=writes):
            self._open[asked.handle_id] = None
            return self._open_confined(asked)
        if writes:
            self._confinement.release_placeholders()
        try:
            path = native(asked.path)
            fd = open_to_write(path) if writes else open_to_read(path)
        except OSError as exc:
            raise file_error(exc) from None
        self._open[asked.handle_id] = fd
        return fs.FileOpened(asked.handle_id)

    async def _open_confined(self, asked: fs.OpenFile) -> fs.FileOpened:
        try:
            self._open[asked.handle_id] = await self._confinement.open_file(asked)
        except BaseException:
            self._open.pop(asked.handle_id, None)
            raise
        return fs.FileOpened(asked.handle_id)

    def read_block(self, asked: fs.ReadBlock) -> fs.BlockRead:
        if not 1 <= asked.len <= MAX_BLOCK:
            raise invalid_request(f"file read block length must be between 1 and {MAX_BLOCK}")
        if not 0 <= asked.offset <= MAX_OFFSET - asked.len:
            raise invalid_request("file read range exceeds the signed 64-bit file offset limit")
        fd = self._descriptor(asked.handle_id)
        try:
            data = os.pread(fd, asked.len, asked.offset)
            while 0 < len(data) < asked.len and (more := os.pread(fd, asked.len - len(data), asked.offset + len(data))):
                data += more
        except OSError as exc:
            raise file_error(exc) from None
        return fs.BlockRead(data, len(data) < asked.len)

    def write_block(self, asked: fs.WriteBlock) -> Empty:
        try:
            data = decode_base64(asked.chunk)
        except BadBase64 as exc:
            raise invalid_params(str(exc)) from None
        if not 1 <= len(data) <= MAX_BLOCK:
            raise invalid_request(f"file write block length must be between 1 and {MAX_BLOCK}")
        if not 0 <= asked.offset <= MAX_OFFSET - len(data):
            raise invalid_request("file write range exceeds the signed 64-bit file offset limit")
        fd, offset, left = self._descriptor(asked.handle_id), asked.offset, memoryview(data)
        try:
            while left:
                written = os.pwrite(fd, left, offset)
                left, offset = left[written:], offset + written
        except OSError as exc:
            raise file_error(exc) from None
        return Empty()

    def close(self, asked: fs.CloseFile) -> Empty:
        """An unknown handle is not an error."""
        if self._open.get(asked.handle_id) is not None:
            self._close_one(asked.handle_id)
        return Empty()

    def close_all(self) -> None:
        for handle_id in list(self._open):
            self._close_one(handle_id)

    def _close_one(self, handle_id: str) -> None:
        fd = self._open.pop(handle_id)
        if fd is not None:
            os.close(fd)

    def _descriptor(self, handle_id: str) -> int:
        fd = self._open.get(handle_id)
        if fd is None:
            raise not_found(f"unknown file handle `{handle_id}`")
        return fd
