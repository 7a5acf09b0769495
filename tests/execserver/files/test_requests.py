import asyncio
import os
from pathlib import Path

import pytest

from codex_mcp.execserver.files.answer_budget import AnswerBudget, HeldAnswer
from codex_mcp.execserver.files.requests import QUICK_BYTES, Files
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.base64 import encode_base64
from codex_mcp.wire.exec.protocol import Empty
from codex_mcp.wire.exec.sandbox import ReadOnly, Sandbox

LIMITED = Sandbox(ReadOnly(), "disabled")


async def test_small_files_are_done_at_once_and_large_ones_aside(tmp_path: Path) -> None:
    files, large = Files(Confinement([]), AnswerBudget()), os.urandom(QUICK_BYTES + 1)
    path = str(tmp_path / "file")
    assert files.write_file(fs.WriteFile(path, "aGk=")) == Empty()
    assert files.read_file(fs.ReadFile(path)) == fs.FileRead(b"hi")
    writing = files.write_file(fs.WriteFile(path, encode_base64(large)))
    assert asyncio.iscoroutine(writing)
    assert await writing == Empty()
    reading = files.read_file(fs.ReadFile(path))
    assert asyncio.iscoroutine(reading)
    assert await reading == HeldAnswer(fs.FileRead(large), len(large))


async def test_what_the_operating_system_refuses_has_its_code() -> None:
    files = Files(Confinement([]), AnswerBudget())
    with pytest.raises(RequestFailed) as caught:
        files.answer(fs.GetMetadata("file:///nonexistent"), writes=False, is_slow=False)
    assert caught.value.error.code == -32004


async def test_without_a_sandbox_program_limited_writes_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    files = Files(Confinement([]), AnswerBudget())
    for asked in [
        files.write_file(fs.WriteFile(str(tmp_path / "x"), "", sandbox=LIMITED)),
        files.answer(fs.CreateDirectory(str(tmp_path / "x"), sandbox=LIMITED), writes=True, is_slow=False),
        files.answer(fs.Remove(str(tmp_path), sandbox=LIMITED), writes=True, is_slow=True),
        files.answer(fs.Copy("file:///etc/passwd", str(tmp_path / "x"), False, LIMITED), writes=True, is_slow=True),  # noqa: FBT003
    ]:
        assert asyncio.iscoroutine(asked)
        with pytest.raises(RequestFailed) as caught:
            await asked
        assert caught.value.error.code == -32602
    assert os.listdir(tmp_path) == []


async def test_reads_that_are_free_need_no_sandbox_program() -> None:
    files = Files(Confinement([]), AnswerBudget())
    quick = [fs.GetMetadata("file:///etc", sandbox=LIMITED), fs.Canonicalize("file:///etc", sandbox=LIMITED)]
    kinds = [type(files.answer(request, writes=False, is_slow=False)) for request in quick]
    assert kinds == [fs.Metadata, fs.CanonicalPath]
    options = fs.WalkOptions(0, 1, 1000, follow_directory_symlinks=False)
    for request in [fs.ReadDirectory("file:///etc", sandbox=LIMITED), fs.Walk("file:///etc", options)]:
        asked = files.answer(request, writes=False, is_slow=True)
        assert asyncio.iscoroutine(asked)
        await asked
