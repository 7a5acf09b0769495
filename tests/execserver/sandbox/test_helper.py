import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from codex_mcp.execserver.sandbox.helper import Helper, HelperDied, helper_command, runtime_paths
from codex_mcp.wire.exec.base64 import encode_base64
from codex_mcp.wire.exec.helper import BEGUN


def request(kind: str, **params: object) -> bytes:
    return msgspec.json.encode({"kind": kind, "params": params})


def script(text: str) -> Helper:
    """Something else in the helper's place."""
    return Helper(replace(helper_command(), argv=[sys.executable, "-c", text]), ExitStack())


async def test_a_helper_answers_requests_of_any_size_one_after_the_other(tmp_path: Path) -> None:
    helper, path = Helper(helper_command(), ExitStack()), str(tmp_path / "file")
    try:
        for size in (3 << 20, 0, 10):
            data = encode_base64(os.urandom(size))
            await helper.ask(request("WriteFile", path=path, dataBase64=data))
            answer, descriptor = await helper.ask(request("ReadFile", path=path))
            assert msgspec.json.decode(answer)["result"] == {"dataBase64": data}
            assert descriptor is None
    finally:
        helper.end()


async def test_a_helper_hands_an_open_file_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hi")
    helper = Helper(helper_command(), ExitStack())
    _, descriptor = await helper.ask(request("OpenFile", handleId="h", path=str(tmp_path / "file")))
    helper.end()
    assert descriptor is not None
    assert os.read(descriptor, 10) == b"hi"
    os.close(descriptor)


@pytest.mark.parametrize(
    ("text", "has_begun"),
    [
        ("", False),
        ("import os; os.read(0, 4); os._exit(1)", False),
        (f"import os; os.read(0, 99); os.write(0, {BEGUN!r}); os._exit(1)", True),
        (f"import os; os.read(0, 99); os.write(0, {BEGUN!r} + bytes(7) + b'x12'); os._exit(1)", True),
    ],
)
async def test_a_helper_that_dies_says_whether_it_had_begun(text: str, *, has_begun: bool) -> None:
    helper = script(text)
    with pytest.raises(HelperDied) as caught:
        await helper.ask(b"request")
    assert caught.value.has_begun is has_begun
    helper.end()


async def test_what_a_helper_holds_is_released_at_its_end_and_only_then() -> None:
    released: list[int] = []
    held = ExitStack()
    held.callback(released.append, 1)
    helper = Helper(helper_command(), held)
    held.close()
    assert released == []
    helper.end()
    helper.end()
    assert released == [1]


async def test_what_a_helper_that_cannot_be_started_holds_is_released() -> None:
    released: list[int] = []
    held = ExitStack()
    held.callback(released.append, 1)
    with pytest.raises(FileNotFoundError):
        Helper(replace(helper_command(), argv=["/nonexistent"]), held)
    assert released == [1]


async def test_the_end_of_a_helper_can_be_watched() -> None:
    helper, over = script("import time; time.sleep(100)"), asyncio.Event()
    asyncio.get_running_loop().add_reader(helper.pidfd, over.set)
    signal.pidfd_send_signal(helper.pidfd, signal.SIGKILL)
    await over.wait()
    asyncio.get_running_loop().remove_reader(helper.pidfd)
    helper.end()


async def test_what_a_failing_helper_complains_of_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    helper = script("import sys; sys.exit('no view')")
    with pytest.raises(HelperDied):
        await helper.ask(b"request")
    helper.end()
    assert "the file helper says: no view" in caplog.text


def test_the_helpers_own_files_are_named_once_and_the_current_folder_is_none_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    paths = runtime_paths()
    assert str(tmp_path) not in [*paths, *helper_command().argv]
    assert all(os.path.isdir(path) for path in paths)
    assert not any(path != other and path.startswith(other + "/") for path in paths for other in paths)


def test_compiled_modules_are_found_wherever_a_system_has_them() -> None:
    for name in ("_socket", "_decimal", "_struct", "_json"):
        found = importlib.util.find_spec(name)
        assert found is not None
        if found.has_location:  # else it is a part of Python itself
            assert os.path.dirname(found.origin or "") in helper_command().argv


def test_a_helper_whose_socket_ends_ends_in_peace() -> None:
    spec = helper_command()
    ended = subprocess.run(spec.argv, env=spec.env, cwd=spec.cwd, stdin=subprocess.DEVNULL, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
