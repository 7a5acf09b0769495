import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from codex_mcp.execserver.files.helper_main import answer, main
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.helper import BEGUN, SIZE_BYTES, framed


def asked(kind: str, **params: object) -> bytes:
    return msgspec.json.encode({"kind": kind, "params": params})


def test_a_request_is_answered_by_the_name_of_its_type(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hi")
    reply, descriptor = answer(asked("ReadFile", path=str(tmp_path / "file")))
    assert msgspec.json.decode(reply.result, type=fs.FileRead) == fs.FileRead(b"hi")
    assert (reply.error, descriptor) == (None, None)


def test_errors_come_back_with_their_codes() -> None:
    missing, _ = answer(asked("ReadFile", path="file:///nonexistent"))
    assert missing.error is not None
    assert missing.error.code == -32004
    device, _ = answer(asked("OpenFile", handleId="h", path="file:///dev/zero"))
    assert device.error is not None
    assert device.error.code == -32600


def test_an_opened_file_comes_back_as_a_descriptor(tmp_path: Path) -> None:
    for mode in ("replace", "read"):
        reply, descriptor = answer(asked("OpenFile", handleId="h", path=str(tmp_path / "file"), mode=mode))
        assert msgspec.json.decode(reply.result) == {"handleId": "h"}
        assert descriptor is not None
        with open(descriptor, "rb" if mode == "read" else "wb"):
            pass


@pytest.fixture
def line() -> Iterator[socket.socket]:
    """The other end of a helper's socket."""
    ours, theirs = socket.socketpair()
    helper = threading.Thread(target=main, args=[theirs.fileno()])
    helper.start()
    with theirs:
        with ours:
            yield ours
        helper.join()


def read(line: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        got += line.recv(size - len(got))
    return got


def reply(line: socket.socket) -> object:
    assert read(line, 1) == BEGUN
    return msgspec.json.decode(read(line, int.from_bytes(read(line, SIZE_BYTES), "big")))


def test_one_request_after_the_other_is_answered_however_they_come(line: socket.socket, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hi")
    request = framed(asked("ReadFile", path=str(tmp_path / "file")))
    line.sendall(request + request[:5])
    assert reply(line) == {"result": {"dataBase64": "aGk="}, "error": None}
    line.sendall(request[5:] + request)
    assert [reply(line), reply(line)] == [{"result": {"dataBase64": "aGk="}, "error": None}] * 2


def test_an_open_file_comes_with_its_answer_and_the_helper_keeps_none(line: socket.socket, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hi")
    for _ in range(3):
        line.sendall(framed(asked("OpenFile", handleId="h", path=str(tmp_path / "file"))))
        assert read(line, 1) == BEGUN
        data, (descriptor,), _, _ = socket.recv_fds(line, 1000, 1)
        assert msgspec.json.decode(data[SIZE_BYTES:]) == {"result": {"handleId": "h"}, "error": None}
        assert os.read(descriptor, 10) == b"hi"
        os.close(descriptor)
