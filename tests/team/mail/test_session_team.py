"""Agents of a team in this process, as members of a session's team on files."""

import json
from pathlib import Path

import pytest

from codex_mcp.team.mail import session_team
from codex_mcp.team.mail.claude_session import claude_session
from tests.support.mail.folders import until
from tests.support.team.local_team import local_team
from tests.support.team.session_team import SESSION_TEAM, VARIABLES, SessionFolder

CLAUDE = claude_session(VARIABLES)


async def test_a_lock_that_another_holds_is_waited_for(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path / "teams")
    folder.make()
    lock = folder.path / "config.json.lock"
    lock.mkdir()
    async with local_team(tmp_path, claude=CLAUDE) as team:
        dev = await team.start("dev")
        await team.ask(dev, "hello")
        assert team.team.mail.session_team.address("dev") is None
        lock.rmdir()
        await until(lambda: folder.members() == ["team-lead", "alice", "dev"])
        await team.team.mail.session_team.has_joined.wait()
        assert [each.team for each in team.team.mail.addresses(dev.mailbox)] == [SESSION_TEAM]
    assert folder.members() == ["team-lead", "alice"]


async def test_at_the_end_a_held_lock_is_not_waited_for_and_the_next_server_cleans_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_team, "PATIENCE", 0.01)
    folder = SessionFolder(tmp_path / "teams")
    folder.make()
    lock = folder.path / "config.json.lock"
    async with local_team(tmp_path, claude=CLAUDE) as team:
        await team.ask(await team.start("dev"), "hello")
        await until(lambda: "dev" in folder.members())
        await until(lambda: not lock.exists())
        lock.mkdir()
    assert "cannot change the members of team" in caplog.text
    lock.rmdir()
    assert folder.members() == ["team-lead", "alice", "dev"]


async def test_an_entry_that_claude_code_drops_is_added_again_and_so_is_one_in_a_new_folder(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path / "teams")
    folder.make()
    before = folder.config.read_bytes()
    async with local_team(tmp_path, claude=CLAUDE) as team:
        await team.ask(await team.start("dev"), "hello")
        await until(lambda: "dev" in folder.members())
        folder.config.write_bytes(before)
        await until(lambda: "dev" in folder.members())
        folder.path.rename(tmp_path / "gone")
        await until(lambda: not team.team.mail.session_team.has_joined.is_set())
        folder.make()
        await until(lambda: "dev" in folder.members())
    assert folder.config.read_bytes() == before


async def test_a_file_that_is_being_written_changes_nothing(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path / "teams")
    folder.make()
    async with local_team(tmp_path, claude=CLAUDE) as team:
        dev = await team.start("dev")
        await team.ask(dev, "hello")
        await team.team.mail.session_team.has_joined.wait()
        whole = folder.config.read_bytes()
        folder.config.write_bytes(whole[: len(whole) // 2])
        await team.ask(await team.start("arch"), "hello")
        assert team.team.mail.session_team.address("dev") is not None
        folder.config.write_bytes(whole)
        await until(lambda: b"arch" in folder.config.read_bytes())
        assert json.loads(folder.config.read_bytes())["members"][2]["name"] == "dev"


async def test_a_team_without_claude_code_has_no_tasks_of_it(tmp_path: Path) -> None:
    async with local_team(tmp_path) as team:
        dev = await team.start("dev")
        await team.ask(dev, "hello")
        assert team.team.mail.session_team.team is None
        assert team.team.mail.addresses(dev.mailbox) == []
