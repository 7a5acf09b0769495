"""Whoever keeps reading over HTTP gets every event of a burst, on every door, beside a listener that reads nothing."""

import asyncio
from pathlib import Path

import msgspec
from websockets.asyncio.client import connect as connect_socket

from tests.mcp.http.test_metrics import numbers
from tests.support.http.http_server import scripted_http_server
from tests.support.http.mcp_client import SESSION, Door, Events, Json, call, shake_hands, stateless


def burst(count: int) -> Json:
    return call(1, "codex", {"prompt": f"[[scene: stream count={count}]]"})


class Heard:
    """What one reader has got."""

    def __init__(self) -> None:
        self.deltas = 0

    def is_last(self, message: Json) -> bool:
        """Count a message; is it the answer?"""
        if message.get("method") == "codex/event":
            self.deltas += message["params"]["msg"]["type"] == "agent_message_content_delta"
        return message.get("id") == 1


async def deltas(events: Events) -> int:
    heard = Heard()
    while not heard.is_last(await events.message()):
        pass
    return heard.deltas


async def deltas_of_post(door: Door, message: Json, **headers: str) -> int:
    async with door.stream("POST", message, **headers) as events:
        return await deltas(events)


async def deltas_of_get(door: Door, opened: asyncio.Barrier) -> int:
    async with door.stream("GET") as events:
        await opened.wait()
        return await deltas(events)


async def deltas_of_socket(port: int, session: str, opened: asyncio.Barrier) -> int:
    heard = Heard()
    address = f"ws://127.0.0.1:{port}/ws"
    async with connect_socket(address, proxy=None, additional_headers={SESSION: session}) as connection:
        await opened.wait()
        while not heard.is_last(msgspec.json.decode(await connection.recv())):
            pass
    return heard.deltas


async def after(opened: asyncio.Barrier, door: Door, message: Json) -> None:
    await opened.wait()
    await door.post(message)


async def heard_by_all(port: int, count: int) -> list[int]:
    """How much of a burst arrives where: two listeners and a socket of one session, and three requests elsewhere."""
    bus = Door(port, "/", **{SESSION: f"burst of {count}".replace(" ", "-")})
    mcp = await shake_hands(port)
    alone, headers = stateless(burst(count))
    opened = asyncio.Barrier(4)
    async with bus.stream("GET"), asyncio.TaskGroup() as group:  # the first one never reads
        heard = [
            group.create_task(deltas_of_get(bus, opened)),
            group.create_task(deltas_of_get(bus, opened)),
            group.create_task(deltas_of_socket(port, bus.headers[SESSION], opened)),
            group.create_task(deltas_of_post(mcp, burst(count))),
            group.create_task(deltas_of_post(Door(port), alone, **headers)),
            group.create_task(deltas_of_post(Door(port, "/"), burst(count), x_mcp_post_stream="1")),
        ]
        group.create_task(after(opened, bus, burst(count)))
    return [each.result() for each in heard]


async def test_every_reader_of_every_door_gets_a_whole_burst_beside_one_that_is_stalled(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model):
        for count in (200, 3000):
            assert await heard_by_all(server.port, count) == [count] * 6
        assert (await numbers(server.port))["dropped_messages_total"] == 0
