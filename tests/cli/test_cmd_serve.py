"""`codex-mcp serve` from its flags to its end."""

import argparse
import os
from pathlib import Path

from codex_mcp.cli.serving import add_serving_arguments
from tests.support.servers.mcp_server import Setup
from tests.support.team.team_server import TeamServer, say, team_server


class WithoutRights(Setup):
    """A server that may write only where permissions say so, also if it is root's."""

    def argv(self) -> list[str]:
        rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
        return [*rights, *super().argv()]


class UnprivilegedServer(TeamServer):
    def __init__(self, setup: Setup) -> None:
        super().__init__(WithoutRights(setup.folder, setup.overrides, setup.flags, setup.environment, setup.command))


async def test_it_lists_its_tools_at_once_and_introduces_itself(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        tools = (await server.result(server.request("tools/list")))["tools"]
        assert len(tools) == 14
        assert {tool["name"] for tool in tools} >= {"codex", "codex-reply", "codex_threads", "codex_close"}


async def test_flags_name_the_team_and_whom_to_resume(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--team", "red", "--identity", "arch") as (server, _model):
        first = await server.start(say("one"))
        assert (first["team"], first["identity"]) == ("red", "arch")
    async with team_server(tmp_path, "--team", "red", "--identity", "arch", "--resume") as (server, model):
        again = await server.start(say("two"))
        assert again["codex_id"] == first["codex_id"]
        assert "earlier-summary" in str(model.requests[-1])


async def test_whom_to_resume_may_be_said_by_the_name_of_a_role(tmp_path: Path) -> None:
    path = tmp_path / "home/.config/atm/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[plugins.codex-mcp.roles.reviewer]\nidentity = "rev"\n')
    async with team_server(tmp_path) as (server, _model):
        first = await server.start(say("one"), role="reviewer")
        await server.start(say("two"), identity="later")
    async with team_server(tmp_path, "--role", "reviewer", "--resume") as (server, _model):
        assert (await server.start(say("go on")))["codex_id"] == first["codex_id"]


def test_features_are_switched_as_codex_does_it() -> None:
    parser = argparse.ArgumentParser()
    add_serving_arguments(parser, with_team=True)
    arguments = parser.parse_args(["--enable", "a", "--disable", "b", "--team", "red"])
    assert (arguments.enable, arguments.disable, arguments.team) == (["a"], ["b"], "red")


async def test_a_state_folder_that_cannot_be_written_is_a_warning_and_agents_work(tmp_path: Path) -> None:
    folder = tmp_path / "read only"
    folder.mkdir(mode=0o500)
    async with team_server(tmp_path, "--state-dir", str(folder), kind=UnprivilegedServer) as (server, _model):
        answer = await server.start(say("hello"), identity="arch")
        assert answer["content"] == "hello"
        assert (await server.reply("arch", say("again")))["content"] == "again"
        assert server.log.count(f"cannot use state_dir = {str(folder)!r}: you may not write to {folder}.") == 1
        scratch = server.setup.codex_home / "codex-mcp/scratch"
        assert list(scratch.glob("*/registry.json"))
    assert not scratch.exists()
    assert list(folder.iterdir()) == []
