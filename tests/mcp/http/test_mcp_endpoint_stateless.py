"""`/mcp` for requests that stand for themselves, and what both eras have in common."""

from pathlib import Path

import msgspec
import pytest

from codex_mcp.base.settings.kinds import Protocol
from codex_mcp.wire.mcp import Change
from tests.support.http.echo_methods import EchoMethods, serving, within
from tests.support.http.endpoints import served
from tests.support.http.mcp_client import BOTH, SESSION, Door, Json, initialize, request, shake_hands, stateless


async def ask_stateless(port: int, message: Json, **capabilities: object) -> Json:
    body, headers = stateless(message, **capabilities)
    return await Door(port).post(body, **headers)


async def test_a_request_that_stands_for_itself_is_answered_with_no_session(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        body, headers = stateless(request(1, "echo", a=1))
        answer = await Door(server.port).ask("POST", body, **headers)
        assert answer.status == 200
        assert SESSION not in answer.headers
        assert msgspec.json.decode(answer.body)["result"] == {"resultType": "complete", "echo": {"a": 1}}
        assert len(server.hub) == 0


async def test_one_that_says_something_first_is_answered_by_a_stream_without_ids(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        body, headers = stateless(request(1, "talk", count=1))
        async with Door(server.port).stream("POST", body, **headers) as events:
            note, answer = await events.next(), await events.next()
            assert note is not None
            assert answer is not None
            assert (note.id, answer.id) == ("", "")
            assert answer.message["result"]["resultType"] == "complete"
            assert await events.next() is None


async def test_a_client_that_hangs_up_has_cancelled_its_request(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        body, headers = stateless(request("gone", "hold"))
        async with Door(server.port).stream("POST", body, **headers) as events:
            assert (await events.message())["params"] == {"held": "gone"}
        assert await within(methods.cancelled.get()) == "gone"


async def test_the_same_id_at_once_is_no_matter(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        body, headers = stateless(request(1, "hold"))
        async with Door(server.port).stream("POST", body, **headers) as events:
            await within(methods.held.get())
            assert (await ask_stateless(server.port, request(1, "echo")))["result"]["echo"] == {}
            methods.gate.set()
            assert (await events.rest())[-1]["result"]["held"] == 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_there_is_nothing_but_post(tmp_path: Path, method: str) -> None:
    async with serving(tmp_path) as (server, _methods):
        refused = await Door(server.port, accept=BOTH).ask(method, mcp_protocol_version="2026-07-28")
        assert (refused.status, refused.headers["allow"]) == (405, "POST")


async def test_a_method_of_the_other_era_is_not_found(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        body, headers = stateless(request(5, "ping"))
        answer = await Door(server.port).ask("POST", body, **headers)
        assert answer.status == 404
        assert msgspec.json.decode(answer.body)["id"] == 5
        door = await shake_hands(server.port)
        assert (await door.post(request(1, "server/discover")))["error"]["code"] == -32602


async def test_a_client_that_cannot_be_asked_is_told_what_is_missing(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        body, headers = stateless(request(5, "ask"))
        answer = await Door(server.port).ask("POST", body, **headers)
        assert answer.status == 400
        assert msgspec.json.decode(answer.body)["error"]["code"] == -32021


async def test_where_only_the_handshake_is_spoken_the_other_era_is_told_what_is(tmp_path: Path) -> None:
    async with serving(tmp_path, protocol=Protocol.LEGACY, stateless=False) as (server, _methods):
        body, headers = stateless(request(5, "server/discover"))
        answer = await Door(server.port).ask("POST", body, **headers)
        assert answer.status == 400
        supported = msgspec.json.decode(answer.body)["error"]["data"]["supported"]
        assert ("2025-11-25" in supported, "2026-07-28" in supported) == (True, False)


async def test_when_the_server_stops_there_is_no_new_work(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        door = await shake_hands(server.port)
        async with door.stream("POST", request(1, "hold")) as events:
            await within(methods.held.get())
            server.hub.stop_accepting()
            body, headers = stateless(request(1, "echo"))
            assert (await Door(server.port).ask("POST", body, **headers)).status == 503
            assert (await door.post(request(2, "echo")))["error"]["code"] == -32001
            assert (await Door(server.port, accept=BOTH).ask("POST", initialize())).status == 503
            methods.gate.set()
            assert (await events.rest())[-1]["result"] == {"held": 1}


async def test_who_listens_is_told_of_the_changes_that_it_wants(tmp_path: Path) -> None:
    methods = EchoMethods()
    capabilities = {"tools": {"listChanged": True}, "prompts": {}}
    async with served(tmp_path, methods.table(), capabilities) as server:
        wanted = {"toolsListChanged": True, "promptsListChanged": True}
        body, headers = stateless(request("l", "subscriptions/listen", notifications=wanted))
        async with Door(server.port).stream("POST", body, **headers) as events:
            acknowledged = await events.message()
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
            for change in (Change.PROMPTS, Change.TOOLS):
                server.hub.announce(change)
            assert await events.message() == {
                "jsonrpc": "2.0",
                "method": "notifications/tools/list_changed",
                "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": "l"}},
            }
            for session in server.hub.running():
                session.stop_listening()
            assert (await events.rest())[-1]["result"]["resultType"] == "complete"


async def test_a_client_with_a_session_is_told_on_its_standing_stream(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        async with door.stream("GET") as events:
            server.hub.announce(Change.TOOLS)
            assert (await events.message())["method"] == "notifications/tools/list_changed"
