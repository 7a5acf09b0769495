"""Surroundings are looked at when they are needed, and not on the wrong machine."""

import subprocess
from pathlib import Path

from msgspec.structs import replace

from codex_mcp.team.looking import look_around
from codex_mcp.team.member import Member
from tests.team.test_agent import agent


def repository(folder: Path, branch: str) -> Path:
    subprocess.run(["git", "init", "--quiet", "--initial-branch", branch, str(folder)], check=True)
    return folder


def test_an_agent_knows_its_repository_and_branch(tmp_path: Path) -> None:
    member = Member(replace(agent(), cwd=str(repository(tmp_path, "main"))))
    seen = look_around(member)
    assert (seen.branch, member.agent.branch, member.agent.repo_root, member.told) == (
        "main",
        "main",
        str(tmp_path),
        seen,
    )


def test_a_folder_of_another_machine_is_not_looked_at(tmp_path: Path) -> None:
    member = Member(replace(agent(), cwd=str(repository(tmp_path, "main"))))
    member.is_elsewhere = True
    assert look_around(member).branch is None
