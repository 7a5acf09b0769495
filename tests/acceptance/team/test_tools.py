"""The tools of a team, as a client sees them before it calls one."""

import re

from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.team_server import TeamServer

OURS = re.compile(r"codex(-reply|_[a-z]+)?|atm_[a-z_]+")


async def tools_of(server: TeamServer) -> dict[str, Json]:
    """The tools by name."""
    listed = await server.result(server.request("tools/list"))
    return {tool["name"]: tool for tool in listed["tools"]}


@requirement("FR-15.2")
async def test_every_tool_of_ours_is_called_codex_something_or_atm_something(team: Team) -> None:
    async with team() as (server, _model):
        tools = await tools_of(server)
        assert {"codex", "codex-reply", "codex_threads", "codex_status", "codex_close"} <= tools.keys()
        assert [name for name in tools if not OURS.fullmatch(name)] == []


@requirement("FR-16.4")
async def test_the_schema_of_codex_names_what_an_agent_can_be_started_with(team: Team) -> None:
    async with team() as (server, _model):
        schema = (await tools_of(server))["codex"]["inputSchema"]
        expected = {"identity", "prompt", "agent_file", "codex_id", "role", "cwd"}
        assert expected <= schema["properties"].keys()
        assert {schema["properties"][name]["type"] for name in expected} == {"string"}
        assert schema["required"] == []  # a prompt, a file or a codex_id: the descriptions say which


@requirement("FR-16.4")
async def test_every_argument_of_every_tool_is_described(team: Team) -> None:
    async with team() as (server, _model):
        for name, tool in (await tools_of(server)).items():
            assert tool["description"]
            # The result of codex_diff is only text: the diff.
            assert name == "codex_diff" or tool["outputSchema"]["type"] == "object"
            for argument, schema in tool["inputSchema"].get("properties", {}).items():
                assert schema.get("description"), f"{name} {argument}"
