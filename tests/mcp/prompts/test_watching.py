"""Changed prompts are noticed as long as a client wants to know."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.mcp.prompts import watching
from codex_mcp.mcp.prompts.watching import PromptWatch
from tests.support.patience import PATIENCE


async def test_listeners_of_the_same_folders_share_a_poll_which_ends_with_the_last(tmp_path: Path) -> None:
    watch = PromptWatch(interval=0.01)
    folders = (str(tmp_path),)
    first, second = asyncio.Event(), asyncio.Event()
    await asyncio.gather(watch.add(folders, first.set), watch.add(folders, second.set))
    assert len(watch) == 1
    (tmp_path / "a.md").write_text("a")
    async with asyncio.timeout(PATIENCE):
        await first.wait()
        await second.wait()
    watch.remove(folders, first.set)
    assert len(watch) == 1
    second.clear()
    (tmp_path / "a.md").unlink()
    async with asyncio.timeout(PATIENCE):
        await second.wait()
    watch.remove(folders, second.set)
    watch.remove(folders, second.set)
    assert len(watch) == 0


async def test_a_change_right_after_the_listener_came_is_noticed(tmp_path: Path) -> None:
    watch = PromptWatch(interval=0.01)
    told = asyncio.Event()
    await watch.add((str(tmp_path),), told.set)
    (tmp_path / "a.md").write_text("a")
    async with asyncio.timeout(PATIENCE):
        await told.wait()
    watch.remove((str(tmp_path),), told.set)


async def test_only_so_many_folders_are_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watching, "MAX_POLLS", 1)
    watch = PromptWatch()
    told = asyncio.Event()
    await watch.add(("one",), told.set)
    await watch.add(("two",), told.set)
    assert len(watch) == 1
    assert "too many folders are watched" in caplog.text
    watch.remove(("two",), told.set)
    watch.remove(("one",), told.set)
    assert len(watch) == 0
