import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from codex_mcp.execserver.helper_call import call_helper, helper_launch, runtime_paths
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire import exec_files as fs
from codex_mcp.wire.exec_base64 import encode_base64


async def test_the_helper_answers_a_request_of_any_size(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    path = str(tmp_path / "file")
    await call_helper(helper_launch(), ExitStack(), fs.WriteFile(path, encode_base64(data)))
    answer, descriptor = await call_helper(helper_launch(), ExitStack(), fs.ReadFile(path))
    assert isinstance(answer, msgspec.Raw)
    assert msgspec.json.decode(answer, type=fs.FileRead).data_base64 == data
    assert descriptor is None


async def test_the_helper_hands_an_open_file_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hi")
    _, descriptor = await call_helper(helper_launch(), ExitStack(), fs.OpenFile("h", str(tmp_path / "file")))
    assert descriptor is not None
    assert os.read(descriptor, 10) == b"hi"
    os.close(descriptor)


async def test_the_helpers_errors_are_the_requests() -> None:
    with pytest.raises(RequestFailed) as caught:
        await call_helper(helper_launch(), ExitStack(), fs.ReadFile("file:///nonexistent"))
    assert caught.value.error.code == -32004


async def test_a_helper_that_says_nothing_is_an_error() -> None:
    for argv in (["/bin/false"], [sys.executable, "-c", "import os; os.read(0, 9); os._exit(1)"]):
        with pytest.raises(RequestFailed, match="could not be set up"):
            await call_helper(replace(helper_launch(), argv=argv), ExitStack(), fs.ReadFile("file:///x"))


def test_the_helpers_own_files_are_named_once_and_the_current_folder_is_none_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    paths = runtime_paths()
    assert str(tmp_path) not in [*paths, *helper_launch().argv]
    assert all(os.path.isdir(path) for path in paths)
    assert not any(path != other and path.startswith(other + "/") for path in paths for other in paths)
