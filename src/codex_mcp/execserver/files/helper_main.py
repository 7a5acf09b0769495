"""The hidden helper for confined file requests: requests on its input, a socket, and their answers back on it.

It knows nothing of limits. It runs inside a view of the file system in which nothing else exists, and does one request
after the other until the socket ends. Each is preceded by its size; the answer by a byte which says that the request
has been taken up, and by its own size.
"""

from __future__ import annotations

import os
import socket
from typing import Any, Final

import msgspec
from msgspec import Raw

from codex_mcp.execserver.errors import file_error
from codex_mcp.execserver.files.operations import WORK, native, open_to_read, open_to_write
from codex_mcp.execserver.sandbox.helper_messages import BEGUN, SIZE_BYTES, Question, Reply, framed
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.files import FileOpened, OpenFile, OpenMode

KINDS: Final[dict[str, Any]] = {kind.__name__: kind for kind in (*WORK, OpenFile)}

LINE: Final = 0
"""The socket."""

READ_BYTES: Final = 1 << 20


def answer(question: bytes) -> tuple[Reply, int | None]:
    """Do what is asked. With an opened file comes its descriptor."""
    asked = msgspec.json.decode(question, type=Question)
    params = msgspec.json.decode(asked.params, type=KINDS[asked.kind])
    try:
        if isinstance(params, OpenFile):
            path = native(params.path)
            descriptor = open_to_write(path) if params.mode is OpenMode.REPLACE else open_to_read(path)
            return Reply(Raw(msgspec.json.encode(FileOpened(params.handle_id)))), descriptor
        return Reply(Raw(msgspec.json.encode(WORK[type(params)](params)))), None
    except RequestFailed as exc:
        return Reply(error=exc.error), None
    except OSError as exc:
        return Reply(error=file_error(exc).error), None


def main(line: int = LINE) -> None:
    """Answer questions until there are no more."""
    while head := _read(line, SIZE_BYTES):
        question = _read(line, int.from_bytes(head, "big"))
        _write(line, BEGUN)
        reply, descriptor = answer(question)
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
    """Write, and not send, which the filter forbids."""
    left = memoryview(data)
    while left:
        left = left[os.write(line, left) :]


def _hand_over(line: int, data: bytes, descriptor: int) -> None:
    # All said beforehand: the filter that we run under forbids to ask a socket what it is.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=os.dup(line)) as sender:
        socket.send_fds(sender, [data], [descriptor])
    os.close(descriptor)
