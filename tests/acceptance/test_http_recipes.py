"""The recipes of the multi-session document, as they are written there: the same requests, byte for byte.

curl sends `User-Agent` and `Accept: */*` unless told otherwise, and nothing else that is not on its command line.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from tests.support.http.client import Answer, Wire, connect
from tests.support.http.http_server import scripted_http_server
from tests.support.http.mcp_client import SESSION, Door, Events, Json, call, initialize, notification, request

ONE = '[[scene: say text="one"]]'


def curl(port: int, *headers: str, path: str = "/mcp", method: str = "GET", data: bytes = b"") -> bytes:
    """What `curl -H … -d … http://127.0.0.1:PORT/mcp` sends."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "User-Agent: curl/8.5.0"]
    if not any(header.startswith("Accept:") for header in headers):
        lines.append("Accept: */*")
    lines += headers
    if data:
        lines.append(f"Content-Length: {len(data)}")
    return "\r\n".join([*lines, "", ""]).encode() + data


@contextlib.asynccontextmanager
async def open_stream(port: int, sent: bytes) -> AsyncIterator[Events]:
    async with connect(port) as wire:
        wire.send_raw(sent)
        status, headers = await wire.read_head()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        yield Events(wire, status, headers)


async def ask(wire: Wire, sent: bytes) -> Answer:
    wire.send_raw(sent)
    return await wire.read_answer()


def result_text(message: Json) -> str:
    text: str = message["result"]["structuredContent"]["content"]
    return text


async def test_open_a_stream_then_send_requests_with_its_id(tmp_path: Path) -> None:
    async with (
        scripted_http_server(tmp_path) as (server, _model),
        connect(server.port) as wire,
        open_stream(server.port, curl(server.port, "Accept: text/event-stream")) as events,
    ):
        session = events.headers[SESSION]
        posted = ("Content-Type: application/json", f"mcp-session-id: {session}")

        first = msgspec.json.encode(initialize())
        answer = await ask(wire, curl(server.port, *posted, method="POST", data=first))
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert answer.headers[SESSION] == session
        assert msgspec.json.decode(answer.body)["result"]["serverInfo"]["name"] == "codex-mcp-server"
        assert await events.message() == msgspec.json.decode(answer.body), "answers go to listeners too"

        noted = msgspec.json.encode(notification("notifications/initialized"))
        assert (await ask(wire, curl(server.port, *posted, method="POST", data=noted))).status == 204

        turn = msgspec.json.encode(call("turn", "codex", {"prompt": ONE}))
        answer = await ask(wire, curl(server.port, *posted, method="POST", data=turn))
        assert result_text(msgspec.json.decode(answer.body)) == "one"
        heard = []
        while (message := await events.message()).get("id") != "turn":
            heard.append(message)
        assert message == msgspec.json.decode(answer.body)
        assert {message["params"]["_meta"]["requestId"] for message in heard} == {"turn"}
        assert "task_complete" in [message["params"]["msg"]["type"] for message in heard]


async def test_accept_alone_streams_nothing_on_post_and_the_header_does(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model), connect(server.port) as wire:
        both = ("Content-Type: application/json", "Accept: text/event-stream", "mcp-session-id: mine")
        turn = msgspec.json.encode(call(1, "codex", {"prompt": ONE}))
        answer = await ask(wire, curl(server.port, *both, path="/", method="POST", data=turn))
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")

        streamed = curl(server.port, *both, "X-MCP-POST-STREAM: 1", path="/", method="POST", data=turn)
        async with open_stream(server.port, streamed) as events:
            assert events.headers[SESSION] == "mine"
            messages = await events.rest()
        assert result_text(messages[-1]) == "one"
        assert {message["method"] for message in messages[:-1]} == {"codex/event"}


async def test_two_listeners_a_post_stream_and_json_posts_side_by_side(tmp_path: Path) -> None:
    """Listeners hear everything once; a POST stream hears everything until its answer; a POST its answer alone."""
    async with scripted_http_server(tmp_path) as (server, model):
        door = Door(server.port, "/", mcp_session_id="shared")
        stranger = Door(server.port, "/", mcp_session_id="another")
        await door.post(initialize())
        held = call("held", "codex", {"prompt": '[[scene: gate name=one text="held"]]'})
        async with (
            door.stream("GET") as one,
            door.stream("GET") as two,
            stranger.stream("GET") as other,
            door.stream("POST", held, x_mcp_post_stream="1") as post,
        ):
            await model.wait_for_gate("one")
            answers = await asyncio.gather(
                door.post(call("a", "codex", {"prompt": '[[scene: say text="a"]]'})),
                door.post(call("b", "codex", {"prompt": '[[scene: say text="b"]]'})),
                door.post(request("ping", "ping")),
            )
            model.release("one")
            streamed = await post.rest()
            heard = [[await events.message() for _ in streamed] for events in (one, two)]

            assert [answer["id"] for answer in answers] == ["a", "b", "ping"]
            assert [result_text(answer) for answer in answers[:2]] == ["a", "b"]
            assert streamed[-1]["id"] == "held"
            assert result_text(streamed[-1]) == "held"
            assert heard == [streamed, streamed]
            for answer in answers:
                assert streamed.count(answer) == 1
            events = {message["params"]["_meta"]["requestId"] for message in streamed if "method" in message}
            assert events == {"held", "a", "b"}

            await stranger.post(request("mine", "ping"))
            assert (await other.message())["id"] == "mine", "another session has heard nothing of all that"


async def test_every_session_has_its_own_ids_and_its_own_streams(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model):
        names = [f"client-{number}" for number in range(4)]
        doors = [Door(server.port, "/", mcp_session_id=name) for name in names]
        prompts = [call(1, "codex", {"prompt": f'[[scene: say text="{name}"]]'}) for name in names]
        answers = await asyncio.gather(*(door.post(prompt) for door, prompt in zip(doors, prompts, strict=True)))
        assert [result_text(answer) for answer in answers] == names
