"""What all agents of a server do, for those who follow the topic `agents` at its control socket."""

from pathlib import Path

from tests.support.servers.control_socket import HELLO, RawControl, raw_control, socket_of
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import say, team_server


async def told(client: RawControl, **expected: object) -> Json:
    """The next row of an agent with these values; others are passed over."""
    while (message := await client.read()) is not None:
        row: Json = message.get("params", {}).get("data", {})
        if all(row.get(name) == value for name, value in expected.items()):
            return row
    raise AssertionError(f"nothing was told of {expected}")


async def test_rows_of_all_agents_are_told_when_they_change(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, model):
        await server.start(say("First answer."), identity="arch")
        async with raw_control(await socket_of(server)) as client:
            followed = await client.ask("control/follow", {"topics": ["agents", "questions"]})
            (row,) = followed["result"]["agents"]
            assert (row["identity"], row["thread_state"], row["said"]) == ("arch", "idle", "First answer.")
            assert row["task"] == say("First answer.")
            assert row["since"] <= row["heard"] + 60
            call = server.call("codex", {"prompt": gate(), "identity": "dev"})
            busy = await told(client, identity="dev", thread_state="busy", task=gate())
            assert busy["doing"]
            model.release("gate")
            await server.result(call)
            await told(client, identity="dev", thread_state="idle", said="The gate is open.")
            await server.close_agent("dev")
            assert await told(client, identity="dev", is_here=False)


async def test_a_failed_turn_is_in_the_row_and_other_principals_see_none(tmp_path: Path) -> None:
    script = tmp_path / "fails.toml"
    script.write_text('[scenes.fail]\nsteps = [{ fail = 400, message = "the script says so" }]\n')
    async with team_server(tmp_path, script=script) as (server, _model):
        await server.run("codex", {"prompt": "[[scene: fail]]", "identity": "arch"})
        path = await socket_of(server)
        async with raw_control(path) as client:
            (row,) = (await client.ask("control/follow", {"topics": ["agents"]}))["result"]["agents"]
            assert "the script says so" in row["last_error"]
            assert "the script says so" in row["said"]
        async with raw_control(path, HELLO | {"as": "mira"}) as client:
            assert (await client.ask("control/follow", {"topics": ["agents"]}))["result"]["agents"] == []


async def test_a_server_without_a_dashboard_signs_nobody_in(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        async with raw_control(await socket_of(server)) as client:
            refused = await client.ask("control/sign-in", {})
            assert refused["error"]["message"] == "this server serves no dashboard"
