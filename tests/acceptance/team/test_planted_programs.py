"""Agents write programs and modules where the server and Codex would look for theirs."""

from pathlib import Path

import pytest

from tests.support.repositories import git, repository
from tests.support.servers.mcp_server import McpServer, Setup, scripted_server

NAMES = (
    "bash",
    "bwrap",
    "codex",
    "env",
    "getconf",
    "git",
    "git-lfs",
    "node",
    "ps",
    "rg",
    "setpriv",
    "sh",
    "systemctl",
    "zsh",
)

PLANTED = """#!{sh}
{grep} -q 'NoNewPrivs:.0' /proc/self/status && echo "$0 $*" >> {mark}
PATH=/usr/local/bin:/usr/bin:/bin
exec {name} "$@"
"""
"""Tells that it runs outside of the sandbox, then does what it is called for."""


def plant(folder: Path, source: Path, mark: Path) -> str:
    """The command with which an agent copies all of them into this folder."""
    source.mkdir()
    for name in NAMES:
        (source / name).write_text(PLANTED.format(sh="/bin/sh", grep="/bin/grep", mark=mark, name=name))
        (source / name).chmod(0o755)
    return f"/bin/cp {source}/* {folder}/ && echo planted"


async def run(server: McpServer, command: str, **further: object) -> str:
    arguments = {"prompt": f'[[scene: run cmd="{command}"]]', "sandbox": "workspace-write", "approval-policy": "never"}
    result = await server.run("codex", {**arguments, **further})
    return str(result["structuredContent"]["content"])


async def test_programs_that_an_agent_writes_into_a_folder_of_path_run_in_its_sandbox_only(tmp_path: Path) -> None:
    mark, bin_ = tmp_path / "mark", tmp_path / "work/.venv/bin"
    command = plant(bin_, tmp_path / "planted", mark)
    checkout = repository(tmp_path / "work", **{"a": "one\n", ".gitignore": ".venv\n"})
    bin_.mkdir(parents=True)
    path = {"PATH": f"{bin_}:/usr/local/bin:/usr/bin:/bin"}
    async with scripted_server(tmp_path, environment=path) as (server, _):
        await server.initialize()
        assert "planted" in await run(server, command)
        assert "planted" in await run(server, f"echo x > {checkout}/new; git status; echo planted")
    async with scripted_server(tmp_path, environment=path) as (server, _):
        await server.initialize()
        assert "again" in await run(server, "touch a; git status; echo again")
    assert not mark.exists(), mark.read_text()
    assert git(checkout, "status", "--porcelain") == "?? new"


@pytest.mark.parametrize("name", ["resource", "shutil"])
async def test_modules_in_the_folder_where_a_server_was_started_are_not_imported(tmp_path: Path, name: str) -> None:
    mark = tmp_path / "mark"
    setup = Setup(tmp_path)
    setup.make()
    text = f"open({str(mark)!r}, 'w').close()\nraise ImportError\n"
    (setup.work / f"{name}.py").write_text(text)
    async with scripted_server(tmp_path) as (server, _):
        await server.initialize()
        repository(setup.work, a="one\n")
        await run(server, "touch b")
    assert not mark.exists()
