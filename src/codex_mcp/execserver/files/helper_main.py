"""The helper process for confined file requests: reads them from a socket on stdin, and answers on it.

It enforces nothing itself: it runs in a view of the file system that contains only what the sandbox allows, and does
one request at a time until the socket closes. A request is preceded by its size; an answer by a byte that says that the
request was begun, and by its size.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Final

import msgspec
from msgspec import Raw

from codex_mcp.execserver.errors import file_error
from codex_mcp.execserver.files.operations import OPERATIONS, native, open_to_read, open_to_write
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.files import FileOpened, OpenFile, OpenMode
from codex_mcp.wire.exec.helper import BEGUN, SIZE_BYTES, HelperRequest, HelperResponse, framed

KINDS: Final[dict[str, Any]] = {kind.__name__: kind for kind in (*OPERATIONS, OpenFile)}

LINE: Final = 0
"""The socket."""

READ_BYTES: Final = 1 << 20


def answer(request: bytes) -> tuple[HelperResponse, int | None]:
    """Do a request; the response, and the descriptor of an opened file."""
    asked = msgspec.json.decode(request, type=HelperRequest)
    params = msgspec.json.decode(asked.params, type=KINDS[asked.kind])
    try:
        if isinstance(params, OpenFile):
            path = native(params.path)
            descriptor = open_to_write(path) if params.mode is OpenMode.REPLACE else open_to_read(path)
            return HelperResponse(Raw(msgspec.json.encode(FileOpened(params.handle_id)))), descriptor
        return HelperResponse(Raw(msgspec.json.encode(OPERATIONS[type(params)](params)))), None
    except RequestFailed as exc:
        return HelperResponse(error=exc.error), None
    except OSError as exc:
        return HelperResponse(error=file_error(exc).error), None


def main(line: int = LINE) -> None:
    while head := _read(line, SIZE_BYTES):
        request = _read(line, int.from_bytes(head, "big"))
        _write(line, BEGUN)
        reply, descriptor = answer(request)
        encoded = framed(msgspec.json.encode(reply))
        if descriptor is None:
            _write(line, encoded)
        else:
            _hand_over(line, encoded, descriptor)


def _read(line: int, size: int) -> bytes:
    parts, left = [], size
    while left and (part := os.read(line, min(left, READ_BYTES))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _write(line: int, data: bytes) -> None:
    """With `write`, because the system call filter forbids `send`."""
    left = memoryview(data)
    while left:
        left = left[os.write(line, left) :]


def _hand_over(line: int, data: bytes, descriptor: int) -> None:
    # All arguments are given, because the system call filter forbids asking a socket for its type.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=os.dup(line)) as sender:
        socket.send_fds(sender, [data], [descriptor])
    os.close(descriptor)
