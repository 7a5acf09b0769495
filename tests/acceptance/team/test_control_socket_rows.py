"""Mail, environments and the server itself, for those who follow these topics at the control socket."""

from pathlib import Path

from tests.support.servers.control_socket import HELLO, RawControl, raw_control, socket_of
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import say, team_server

TOPICS = {"topics": ["mail", "environments", "health"]}
PLACE = "[plugins.codex-mcp.environments.gpu]\nurl = 'ws://127.0.0.1:9'\n"


async def told(client: RawControl, **expected: object) -> Json:
    """The next row with these values; others are passed over."""
    while (message := await client.read()) is not None:
        row: Json = message.get("params", {}).get("data", {})
        if all(row.get(name) == value for name, value in expected.items()):
            return row
    raise AssertionError(f"nothing was told of {expected}")


async def test_each_message_is_told_with_how_far_it_came_and_why_it_waits(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("hello"), identity="arch", auto_mail=False)
        await server.start(say("hello"), identity="dev")
        async with raw_control(await socket_of(server)) as client:
            followed = (await client.ask("control/follow", TOPICS))["result"]
            (health,) = followed["health"]
            assert (followed["mail"], health["pid"], health["core"]["starts"]) == ([], server.process.pid, 1)
            assert [(row["name"], row["state"], row["agents"]) for row in followed["environments"]] == [
                ("local", "this machine", 2)
            ]
            send: Json = {"identity": "team-lead", "message": "Look at <b>it</b>."}
            await server.run("atm_send", {**send, "to": "dev"})
            read = await told(client, to="dev", stage="read")
            assert (read["is_read"], read["offers"], list(read["times"])) == (True, 1, ["offered", "read", "started"])
            assert read["sent_at"] <= read["times"]["offered"] <= read["times"]["started"] <= read["times"]["read"]
            await server.run("atm_send", {**send, "to": "arch"})
            waits = await told(client, to="arch")
            assert (waits["why"], waits["can_be_delivered"]) == ("auto_mail is off for it", True)
            async with raw_control(await socket_of(server), HELLO | {"view": True}) as viewer:
                assert (
                    "only read" in (await viewer.ask("control/deliver", {"agent": waits["agent"]}))["error"]["message"]
                )
            async with raw_control(await socket_of(server), HELLO | {"as": "bob"}) as bob:
                seen = (await bob.ask("control/follow", TOPICS))["result"]
                assert (seen["mail"], seen["health"][0]["agents"], seen["environments"][0]["agents"]) == ([], 0, 0)
                assert (
                    "runs no agent" in (await bob.ask("control/deliver", {"agent": waits["agent"]}))["error"]["message"]
                )
            assert "result" in await client.ask("control/deliver", {"agent": waits["agent"]})
            await told(client, to="arch", stage="read")
        assert any(each["event"] == "control" and each.get("by") == "mira" for each in server.audit())
