"""`/ws`: the bus on one socket, one message a frame, and no message twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from codex_mcp.mcp.http.channel import INBOX
from tests.support.http.echo_methods import serving, within
from tests.support.http.mcp_client import SESSION, Door, Json, initialize, notification, request
from tests.support.patience import PATIENCE


@contextlib.asynccontextmanager
async def socket(port: int, session_id: str | None = None, **options: Any) -> AsyncIterator[ClientConnection]:
    headers = {} if session_id is None else {SESSION: session_id}
    headers |= options.pop("headers", {})
    async with connect(
        f"ws://127.0.0.1:{port}/ws", additional_headers=headers, proxy=None, open_timeout=PATIENCE, **options
    ) as connection:
        yield connection


async def say(connection: ClientConnection, message: object) -> None:
    await connection.send(msgspec.json.encode(message).decode())


async def hear(connection: ClientConnection) -> Json:
    message: Json = msgspec.json.decode(await within(connection.recv()))
    return message


async def test_a_socket_has_a_session_and_is_told_its_id(tmp_path: Path) -> None:
    offered = [Subprotocol("mcp")]
    async with serving(tmp_path) as (server, _methods), socket(server.port, subprotocols=offered) as connection:
        assert connection.response is not None
        assert server.hub.find("local", connection.response.headers[SESSION]) is not None
        assert connection.subprotocol == "mcp"
        await say(connection, initialize())
        assert (await hear(connection))["result"]["serverInfo"]["name"] == "codex-mcp-server"


async def test_a_client_that_offers_no_subprotocol_gets_none(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods), socket(server.port) as connection:
        assert connection.subprotocol is None


async def test_each_message_is_one_frame_and_comes_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods), socket(server.port) as connection:
        await say(connection, request(1, "talk", count=2))
        await say(connection, request(2, "echo"))
        heard = [await hear(connection) for _ in range(4)]
        assert [message.get("id") for message in heard] == [2, None, None, 1]


async def test_bytes_are_read_as_text_is(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods), socket(server.port) as connection:
        await connection.send(msgspec.json.encode(request(1, "echo")))
        assert (await hear(connection))["id"] == 1


async def test_both_eras_are_spoken_on_one_socket(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods), socket(server.port) as connection:
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
        await say(connection, request(1, "server/discover", _meta=meta))
        assert (await hear(connection))["result"]["resultType"] == "complete"
        await say(connection, initialize())
        assert "protocolVersion" in (await hear(connection))["result"]


async def test_it_joins_a_session_of_the_bus(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods), socket(server.port, "shared") as connection:
        door = Door(server.port, "/", mcp_session_id="shared")
        async with door.stream("GET") as events:
            await say(connection, request("by socket", "echo"))
            assert (await events.message())["id"] == "by socket"
            assert (await hear(connection))["id"] == "by socket"
            await door.post(request("by post", "echo"))
            assert (await hear(connection))["id"] == "by post"


@pytest.mark.parametrize(
    ("frame", "code"), [("{", -32700), ("[]", -32600), ("{}", -32600), (b"\xff\xfe", -32700), (b"", -32700)]
)
async def test_what_is_no_message_is_told_to_its_sender_alone(tmp_path: Path, frame: str | bytes, code: int) -> None:
    async with (
        serving(tmp_path) as (server, _methods),
        socket(server.port, "x") as sender,
        socket(server.port, "x") as other,
    ):
        await sender.send(frame)
        assert (await hear(sender))["error"]["code"] == code
        await say(sender, request(1, "echo"))
        assert (await hear(sender))["id"] == 1
        assert (await hear(other))["id"] == 1


async def test_a_full_inbox_is_told_to_come_later(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        session = server.hub.make("local", "x")
        async with socket(server.port, "x") as connection:
            (task,) = (task for task in asyncio.all_tasks() if task.get_name() == f"session {session.session.id}")
            task.cancel()  # nobody looks at its inbox any more
            await asyncio.wait([task])
            for _ in range(INBOX + 1):
                await say(connection, notification("n"))
            await say(connection, request("late", "echo"))
            assert await hear(connection) == {
                "jsonrpc": "2.0",
                "id": "late",
                "error": {
                    "code": -32001,
                    "message": "Server busy: too many messages of this session are waiting; try again later",
                },
            }


async def test_a_socket_that_goes_away_cancels_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, methods):
        async with socket(server.port, "x") as connection:
            await say(connection, request(1, "hold"))
            await within(methods.held.get())
        async with socket(server.port, "x") as connection:
            methods.gate.set()
            assert (await hear(connection))["params"] == {"released": 1}
            assert (await hear(connection))["result"] == {"held": 1}


async def test_it_is_closed_with_its_session(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods), socket(server.port, "x") as connection:
        assert (await Door(server.port, "/", mcp_session_id="x").ask("DELETE")).status == 204
        with pytest.raises(ConnectionClosed) as closed:
            await within(connection.recv())
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1001, "the session has ended")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:8080"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {SESSION: "with space"},
    ],
)
async def test_who_may_not_come_in_gets_no_socket(tmp_path: Path, headers: dict[str, str]) -> None:
    async with serving(tmp_path) as (server, _methods):
        with pytest.raises(InvalidStatus) as refused:
            async with socket(server.port, headers=headers):
                raise AssertionError("it was let in")
        assert refused.value.response.status_code == 403
        assert len(server.hub) == 0


async def test_a_slow_socket_is_told_how_many_it_missed_and_the_others_hear_everything(tmp_path: Path) -> None:
    many, size = 400, 100_000
    async with (
        serving(tmp_path) as (server, _methods),
        socket(server.port, "x", max_queue=1, compression=None) as slow,
        socket(server.port, "x") as quick,
    ):
        session = server.hub.find("local", "x")
        assert session is not None
        for number in range(many):
            session.session.client.notify("note", {"number": number, "fill": "x" * size})
            assert (await hear(quick))["params"]["number"] == number
        await say(quick, request("end", "echo"))
        heard, missed = 0, 0
        while (message := await hear(slow)).get("id") != "end":
            if message["method"] == "codex/dropped":
                missed += message["params"]["count"]
            else:
                heard += 1
        assert missed > 0
        assert heard + missed == many


async def test_a_socket_that_is_torn_off_is_no_error_of_ours(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(tmp_path) as (server, _methods), socket(server.port, "x") as other:
        session = server.hub.find("local", "x")
        assert session is not None
        async with socket(server.port, "x", max_queue=1, compression=None) as torn:
            for _ in range(100):
                session.session.client.notify("note", {"fill": "x" * 100_000})
                await hear(other)
            torn.transport.abort()
            while len(session.channel.subscribers) > 1:
                session.session.client.notify("note", {})
                await hear(other)
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_frame_that_is_too_large_closes_its_socket(tmp_path: Path) -> None:
    async with serving(tmp_path, max_body_bytes=1000) as (server, _methods), socket(server.port) as connection:
        await connection.send("x" * 1001)
        with pytest.raises(ConnectionClosed) as closed:
            await within(connection.recv())
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
