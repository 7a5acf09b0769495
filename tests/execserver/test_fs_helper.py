from pathlib import Path

import msgspec

from codex_mcp.execserver.fs_helper import answer
from codex_mcp.wire import exec_files as fs


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
