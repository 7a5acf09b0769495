"""The control socket of a team's server, with real servers and real clients."""

import os
import signal
import stat
from pathlib import Path

from codex_mcp.control.server import Caller, connect_server, living_nodes
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.wire import control
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import BOTH, Door, call, stateless
from tests.support.servers.control_socket import HELLO, raw_control, socket_of
from tests.support.servers.mcp_server import TOUR, Json, Setup
from tests.support.team.team_server import say, team_server

PERSON = Caller(program="test", person="mira")


async def test_a_person_reaches_a_server_and_its_tools_through_its_socket(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        started = await server.start(say("hello"), identity="arch")
        path = await socket_of(server)
        node = path.stem
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with connect_server(str(server.state_dir), node, PERSON) as (reached, greeting):
            assert (greeting.node, greeting.pid, greeting.team) == (node, server.process.pid, "default")
            assert list(greeting.may) == ["read", "control"]
            result = await reached.call_tool("codex_threads", {}, control.ActsFor(principal="local"))
            (seen,) = result.data["threads"]
            assert seen["codex_id"] == started["codex_id"]
    assert os.listdir(server.state_dir / "nodes") == []


async def test_hello_comes_first_and_names_the_protocol(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        async with raw_control(path, None) as client:
            assert (await client.ask("tools/list", {}))["error"]["message"] == "send control/hello first"
            other = (await client.ask("control/hello", HELLO | {"protocol": 2, "version": "9.9"}))["error"]
            assert other["data"]["protocol"] == 1
            assert "speaks protocol 1" in other["message"]
            assert "9.9) protocol 2; upgrade this server" in other["message"]
            assert "Invalid params" in (await client.ask("control/hello", {"protocol": "x"}))["error"]["message"]
            assert "result" in await client.ask("control/hello", HELLO)
            assert "twice" in (await client.ask("control/hello", HELLO))["error"]["message"]
            assert "cannot be followed" in (await client.ask("control/follow", {"topics": ["x"]}))["error"]["message"]


async def test_a_connection_can_be_narrowed_to_a_principal_and_to_reading(tmp_path: Path) -> None:
    def threads(principal: str) -> Json:
        return {"name": "codex_threads", "_meta": {control.ACTS_FOR: {"principal": principal}}}

    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"), identity="arch")
        path = await socket_of(server)
        async with raw_control(path, HELLO | {"as": "mira"}) as client:
            seen = await client.ask("tools/call", {"name": "codex_threads"})
            assert seen["result"]["structuredContent"]["threads"] == []
            assert "acts for mira only" in (await client.ask("tools/call", threads("local")))["error"]["message"]
            followed = await client.ask("control/follow", {"topics": ["thread:arch"]})
            assert followed["error"]["message"] == "Invalid params: this server runs no agent arch"
        async with raw_control(path, HELLO | {"view": True}) as client:
            seen = await client.ask("tools/call", threads("local"))
            assert len(seen["result"]["structuredContent"]["threads"]) == 1
            for method, params in (
                ("tools/call", {"name": "codex_close", "arguments": {"id": "arch"}}),
                ("tools/call", {"name": "no such tool"}),
                ("execOneOffCommand", {"command": ["true"]}),
            ):
                assert (await client.ask(method, params))["error"]["message"] == "this connection may only read"


async def test_what_an_agent_does_is_told_to_those_who_follow_it(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        await server.start(say("hello"), identity="arch")
        async with raw_control(await socket_of(server)) as client:
            followed = await client.ask("control/follow", {"topics": ["thread:arch"]})
            assert followed["result"]["agents"][0]["identity"] == "arch"
            await server.reply("arch", say("told"))
            await server.close_agent("arch")
            events: list[Json] = []
            while not (events and events[-1]["kind"] == "agent"):
                message = await client.read()
                assert message is not None
                events.append(message["params"])
        kinds = [event["kind"] for event in events]
        assert (kinds[0], kinds.count("turn") % 2) == ("turn", 0)
        assert ("item.ended", "told") in [(event["kind"], event["data"].get("message")) for event in events]
        assert events[-1]["data"]["is_here"] is False
        assert [int(event["at"].split(".")[1]) for event in events] == [*range(1, len(events) + 1)]
        assert len(model.requests) >= 2


async def test_a_socket_works_in_a_folder_with_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    async with team_server(tmp_path, "--state-dir", str(folder)) as (server, _model):
        await server.start(say("hello"))
        (node,) = living_nodes(str(folder))
        async with connect_server(str(folder), node, PERSON) as (_, greeting):
            assert greeting.pid == server.process.pid


async def test_a_server_over_http_has_a_socket_as_well(tmp_path: Path) -> None:
    """Its event loop is another one."""
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), command="serve")
        async with http_server(setup) as server:
            message, headers = stateless(call(1, "codex", {"prompt": say("hello"), "identity": "arch"}))
            assert (await Door(server.port, accept=BOTH).ask("POST", message, **headers)).status == 200
            folder = str(setup.home / ".config/atm/codex-sessions")
            (node,) = living_nodes(folder)
            async with connect_server(folder, node, PERSON) as (reached, _):
                result = await reached.call_tool("codex_close", {"id": "arch"}, control.ActsFor(principal="local"))
                assert result.data["status"] == "closed"
            path = Path(folder) / "nodes" / f"{node}.sock"
            async with raw_control(path) as flooding:
                flooding.write(b"no json\n" * 9)
                while await flooding.read() is not None:
                    pass
            server.signal(signal.SIGHUP)  # with the two of its end, one arrives while the product is being closed
    assert not path.exists()
