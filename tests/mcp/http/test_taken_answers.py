"""Over HTTP an answer counts as told once its client has read it, even if the client then closes its connection."""

import asyncio
import re
import socket
from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.mcp.calls.test_waiting import JSON, all_gone, answers_others, begins, gate, result_at, seen
from tests.support.http.client import connect
from tests.support.http.http_server import ChildServer, scripted_http_server
from tests.support.http.mcp_client import BOTH, Door, Json, call, shake_hands, stateless
from tests.support.patience import PATIENCE

AT_ONCE = "0.01"
"""Seconds of silence before a stream begins."""

PATIENT = "30"
"""So many that the answer comes as JSON."""

TIMES = 4
"""How often a client reads an answer and is gone at once."""


async def read_and_gone(door: Door, message: Json, model: ScriptedModel, name: str, **headers: str) -> bytes:
    """Wait on a connection of its own, let the turn end, read the answer, and be gone in the same moment."""
    async with connect(door.port) as wire:
        door._send(wire, "POST", message, headers)
        await model.wait_for_gate(name)
        model.release(name)
        return (await wire.read_answer()).body


def written(door: Door, message: Json, **headers: str) -> bytes:
    """The bytes of a POST."""
    body = msgspec.json.encode(message)
    fields = {**door.headers, "content-type": JSON, "content-length": str(len(body)), **headers}
    return (
        "\r\n".join(["POST /mcp HTTP/1.1", *(f"{key}: {text}" for key, text in fields.items()), "", ""]).encode() + body
    )


async def arrived(server: ChildServer, deaf: socket.socket, text: bytes) -> None:
    """Wait until these bytes are in the client's socket, where nobody reads them."""
    async with asyncio.timeout(PATIENCE):
        while True:
            deaf.settimeout(0)
            try:
                if text in deaf.recv(1 << 20, socket.MSG_PEEK):
                    return
            except BlockingIOError:
                pass
            await answers_others(server)


async def idle(server: ChildServer) -> None:
    """Wait until no call runs."""
    async with asyncio.timeout(PATIENCE):
        while re.search(rb"calls_running{.*} [1-9]", (await Door(server.port, "/metrics").ask("GET")).body):
            pass


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize(("quiet", "accept"), [(AT_ONCE, BOTH), (PATIENT, BOTH), (PATIENT, JSON)])
async def test_an_answer_that_was_read_before_its_connection_ended_is_not_repeated(
    tmp_path: Path, quiet: str, accept: str, connection: str
) -> None:
    async with scripted_http_server(tmp_path, "--quiet-time", quiet) as (server, model):
        door = await shake_hands(server.port)
        for number in range(TIMES):
            name = f"g{number}"
            await result_at(door, begins(3 * number + 1, name))
            wait = call(3 * number + 2, "codex_wait")
            read = await read_and_gone(door, wait, model, name, accept=accept, connection=connection)
            assert name.encode() in read
            assert seen(await result_at(door, call(3 * number + 3, "codex_wait"))) == ([], 0), number


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize("quiet", [AT_ONCE, PATIENT])
async def test_so_it_is_without_a_session(tmp_path: Path, quiet: str, connection: str) -> None:
    async with scripted_http_server(tmp_path, "--quiet-time", quiet) as (server, model):
        door = Door(server.port)
        for number in range(TIMES):
            name = f"g{number}"
            sent, headers = stateless(begins(1, name))
            await result_at(door, sent, **headers)
            wait, headers = stateless(call(2, "codex_wait"))
            assert name.encode() in await read_and_gone(door, wait, model, name, connection=connection, **headers)
            again, headers = stateless(call(3, "codex_wait"))
            assert seen(await result_at(door, again, **headers)) == ([], 0), number


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
async def test_so_it_is_on_the_bus(tmp_path: Path, connection: str) -> None:
    async with scripted_http_server(tmp_path) as (server, model):
        door = Door(server.port, "/", mcp_session_id="chosen")
        for number in range(TIMES):
            name = f"g{number}"
            await result_at(door, begins(3 * number + 1, name))
            wait = call(3 * number + 2, "codex_wait")
            assert name.encode() in await read_and_gone(door, wait, model, name, connection=connection)
            assert seen(await result_at(door, call(3 * number + 3, "codex_wait"))) == ([], 0), number


@pytest.mark.parametrize(("quiet", "accept"), [(AT_ONCE, BOTH), (PATIENT, BOTH), (PATIENT, JSON)])
async def test_an_answer_that_arrived_and_was_not_read_is_news_again(tmp_path: Path, quiet: str, accept: str) -> None:
    """Its bytes wait in the client's socket when that is closed, which resets the connection."""
    async with scripted_http_server(tmp_path, "--quiet-time", quiet) as (server, model):
        door = await shake_hands(server.port)
        await result_at(door, begins(1, "one"))
        with socket.create_connection(("127.0.0.1", server.port)) as deaf:
            deaf.sendall(written(door, call(2, "codex_wait"), accept=accept))
            await model.wait_for_gate("one")
            model.release("one")
            await arrived(server, deaf, b'"one"')
        assert seen(await result_at(door, call(3, "codex_wait"))) == (["one"], 0)
        assert seen(await result_at(door, call(4, "codex_wait"))) == ([], 0)


async def test_an_answer_that_was_read_on_a_resumed_stream_is_not_repeated(tmp_path: Path) -> None:
    """It was there before the client came back. One that the client does not read then is news again."""
    async with scripted_http_server(tmp_path, "--quiet-time", AT_ONCE) as (server, model):
        door = await shake_hands(server.port)
        for number, (name, is_read) in enumerate({"one": True, "two": False}.items()):
            asked = call(3 * number + 1, "codex", {"prompt": gate(name), "events": "standard"})
            async with door.stream("POST", asked) as stream:
                first = await stream.next()
                await model.wait_for_gate(name)
            assert first is not None
            await all_gone(server, "streams")
            model.release(name)
            await idle(server)
            if is_read:
                async with door.stream("GET", last_event_id=first.id) as stream:
                    assert [each.get("id") for each in await stream.rest()][-1] == asked["id"]
            for found in ([] if is_read else [name], []):
                assert seen(await result_at(door, call(f"{name} {found}", "codex_wait"))) == (found, 0)
