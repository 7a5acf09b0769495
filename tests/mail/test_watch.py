import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.mail.address import Address
from codex_mcp.mail.files.layout import Layout
from codex_mcp.mail.message import Outgoing
from codex_mcp.mail.watch import changes, config_changes
from tests.support.mail.folders import ALICE, BOB, TEAM, make_team, opened
from tests.support.patience import PATIENCE

NEVER = 10 * PATIENCE
"""Seconds between two looks: only an event wakes within the patience of a test."""

Changes = AsyncGenerator[frozenset[Address]]


@contextlib.asynccontextmanager
async def watching(folder: Path, *addresses: Address, poll: float = NEVER) -> AsyncIterator[Changes]:
    """Changes of these inboxes, bob's if none is named."""
    async with contextlib.aclosing(changes(Layout(str(folder / "teams")), lambda: addresses or (BOB,), poll)) as found:
        yield found


async def changed(found: Changes) -> frozenset[Address]:
    return await asyncio.wait_for(anext(found), PATIENCE)


async def test_a_message_wakes_the_watcher(tmp_path: Path) -> None:
    make_team(tmp_path)
    (tmp_path / "teams" / TEAM / "inboxes" / "bob.json").write_text("[]")
    async with watching(tmp_path) as found, opened(tmp_path) as store:
        assert await changed(found) == {BOB}, "what was there before"
        await store.send(BOB, ALICE, Outgoing(text="for another"))
        await store.send(ALICE, BOB, Outgoing(text="hello"))
        assert await changed(found) == {BOB}


async def test_programs_that_write_in_place_wake_it_too(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    (inboxes / "bob.json").write_text("[]")
    async with watching(tmp_path) as found:
        await changed(found)
        (inboxes / "bob.json").write_text('[{"from": "a", "text": "b"}]')
        assert await changed(found) == {BOB}


async def test_the_teams_may_appear_disappear_and_come_back(tmp_path: Path) -> None:
    async with watching(tmp_path) as found:
        for number in range(3):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(changed(found))
                inboxes = make_team(tmp_path)
                (inboxes / "bob.json").write_text(json.dumps([number]))
                assert await task == {BOB}
            shutil.rmtree(tmp_path / "teams")


async def test_a_team_that_is_replaced_is_watched_again(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    (inboxes / "bob.json").write_text("[]")
    async with watching(tmp_path) as found:
        await changed(found)
        (tmp_path / "teams" / TEAM).rename(tmp_path / "deleted")
        inboxes.mkdir(parents=True)
        (inboxes / "bob.json").write_text("[1]")
        assert await changed(found) == {BOB}
        (inboxes / "bob.json").write_text("[1, 2]")
        assert await changed(found) == {BOB}


async def test_fifty_inboxes_are_told_apart(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    agents = [Address(f"agent-{number}", TEAM) for number in range(50)]
    for agent in agents:
        (inboxes / f"{agent.agent}.json").write_text("[]")
    async with watching(tmp_path, *agents) as found:
        assert await changed(found) == set(agents)
        for agent in agents[::7]:
            (inboxes / f"{agent.agent}.json").write_text("[1]")
            assert await changed(found) == {agent}


async def test_where_files_cannot_be_watched_looking_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    inboxes = make_team(tmp_path)
    (inboxes / "bob.json").write_text("[]")
    monkeypatch.setattr("watchfiles._rust_notify.RustNotify", no_watches)
    async with watching(tmp_path, poll=0.01) as found:
        await changed(found)
        (inboxes / "bob.json").write_text("[1]")
        assert await changed(found) == {BOB}
    assert "looking every 0.01 s instead" in caplog.text


def no_watches(*_: object) -> None:
    raise OSError(28, os.strerror(28))


async def test_the_configuration_of_a_team_comes_changes_and_goes(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path / "teams"))
    path = Path(layout.config("alpha"))

    def write(text: str) -> None:
        (tmp_path / "draft").write_text(text)
        os.replace(tmp_path / "draft", path)

    async with asyncio.timeout(PATIENCE), contextlib.aclosing(config_changes(layout, "alpha", NEVER)) as found:
        await anext(found)  # the first look
        path.parent.mkdir(parents=True)
        write("{}")
        await anext(found)
        write('{"members": []}')
        await anext(found)
        shutil.rmtree(path.parent)
        await anext(found)
        path.parent.mkdir()
        write("{}")
        await anext(found)
