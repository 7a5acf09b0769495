"""Clients that behave badly, each in a way of its own. Whoever stays for an answer gets it, or says so."""

import asyncio
import random
import select
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress

import msgspec
from websockets.asyncio.client import connect as connect_socket
from websockets.exceptions import ConnectionClosed

from tests.support.http.client import connect
from tests.support.http.mcp_client import SESSION, Door, call, notification, request, shake_hands, stateless
from tests.support.patience import PATIENCE

Client = Callable[[int, random.Random], Coroutine[object, object, None]]

FLOOD = 300
AT_ONCE = 60
"""Requests before the first is answered; beyond 64 the server closes the connection."""
"""Messages at once; an inbox holds 128."""

TINY_BUFFER = 4096
"""Bytes that a slow reader's kernel takes for it."""

NO_TOOL = "no-such-tool"

NOISE = 60
LONG = "x" * 100_000
"""Together more than the kernel takes for somebody who does not read, which is some 4 MiB."""


async def polite(port: int, chance: random.Random) -> None:
    """Shake hands, do a few things, say goodbye."""
    door = await shake_hands(port)
    for number in range(chance.randint(1, 5)):
        message = chance.choice([request(number, "ping"), call(number, "codex_wait"), call(number, NO_TOOL)])
        answer = await door.ask("POST", message)
        assert msgspec.json.decode(answer.body)["id"] == number
    assert (await door.ask("DELETE")).status == 200
    assert (await door.ask("POST", request(1, "ping"))).status == 404


async def vanishing(port: int, chance: random.Random) -> None:
    """Open streams, ask, and be gone before the answer, at any moment."""
    door = await shake_hands(port)
    async with connect(port) as listening, connect(port) as asking:
        door._send(listening, "GET", None, {})
        if chance.random() < 0.5:
            await listening.read_head()
        door._send(asking, "POST", call(1, "codex_wait", {"timeoutSeconds": 30}), {})
        if chance.random() < 0.5:
            await asyncio.sleep(0)


async def sending_ahead(port: int, chance: random.Random) -> None:
    """Send requests without waiting for answers on one connection, and leave in the middle."""
    async with connect(port) as wire:
        headers = {"host": f"127.0.0.1:{port}", SESSION: f"ahead-{chance.random()}"}
        wire.send("GET", "/", b"", headers)
        for number in range(5):
            wire.send("POST", "/", msgspec.json.encode(request(number, "ping")), headers)
        await wire.read_head()


async def half_closing(port: int, chance: random.Random) -> None:
    """Say that no more will be said, while the answer is due."""
    async with connect(port) as wire:
        wire.send("POST", "/", msgspec.json.encode(request(1, "ping")), {"host": f"127.0.0.1:{port}"})
        wire._writer.write_eof()
        with suppress(ConnectionError):
            said = await wire.read_to_the_end()
            assert said == b"" or msgspec.json.decode(said.partition(b"\r\n\r\n")[2])["id"] == 1


async def trickling(port: int, chance: random.Random) -> None:
    """Begin a request and never come to its end."""
    whole = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{"
    async with connect(port) as wire:
        wire.send_raw(whole[: chance.randint(1, len(whole))])
        await asyncio.sleep(0)


async def flooding(port: int, chance: random.Random) -> None:
    """Send as much as is allowed, again and again: each message is taken, or refused with the advice to come later."""
    door = Door(port, "/", **{SESSION: f"flood-{chance.random()}"})
    async with connect(port) as wire:
        for start in range(0, FLOOD, AT_ONCE):
            for number in range(start, start + AT_ONCE):
                message = request(number, "ping") if number % 2 else notification("notifications/nothing")
                door._send(wire, "POST", message, {})
            for number in range(start, start + AT_ONCE):
                answer = await wire.read_answer()
                assert answer.status in ({200, 503} if number % 2 else {204, 503})
                assert answer.status != 503 or answer.headers["retry-after"] == "1"


async def not_reading(port: int, chance: random.Random) -> None:
    """Listen on the bus without reading, and let others make noise there; they are not held up."""
    session_id = f"noise-{chance.random()}"
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY_BUFFER)
        listener.settimeout(0)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(listener, ("127.0.0.1", port))
        head = f"GET / HTTP/1.1\r\nhost: localhost\r\n{SESSION}: {session_id}\r\n\r\n"
        await loop.sock_sendall(listener, head.encode())
        assert await loop.sock_recv(listener, 1) == b"H"
        door = Door(port, "/", **{SESSION: session_id})
        async with connect(port) as wire:
            for number in range(NOISE):
                door._send(wire, "POST", call(number, f"{NO_TOOL}-{LONG}"), {})
                answer = await wire.read_answer()
                assert msgspec.json.decode(answer.body)["id"] == number
        if chance.random() < 0.5:
            assert await asyncio.to_thread(_was_cut, listener), "nobody cut a connection that takes nothing"


def _was_cut(listener: socket.socket) -> bool:
    """Wait until the server has hung up, without reading."""
    poller = select.poll()
    poller.register(listener, select.POLLRDHUP)
    return bool(poller.poll(PATIENCE * 1000))


async def on_a_socket(port: int, chance: random.Random) -> None:
    """Talk on a WebSocket, not always sensibly, and leave with or without a word."""
    address = f"ws://127.0.0.1:{port}/ws"
    async with connect_socket(address, proxy=None, open_timeout=60, close_timeout=5) as opened:
        with suppress(ConnectionClosed):
            for number in range(chance.randint(1, 40)):
                await opened.send(
                    "{" if chance.random() < 0.2 else msgspec.json.encode(request(number, "ping")).decode()
                )
                if chance.random() < 0.5:
                    await opened.recv()
        if chance.random() < 0.5:
            opened.transport.abort()


async def stateless_and_leaving(port: int, chance: random.Random) -> None:
    """Ask without a session; listen to changes, and leave."""
    message, headers = stateless(request(1, "server/discover"))
    assert (await Door(port, **headers).ask("POST", message)).status == 200
    message, headers = stateless(request(2, "subscriptions/listen", notifications={"toolsListChanged": True}))
    async with Door(port, **headers).stream("POST", message) as events:
        await events.message()


async def working(port: int, chance: random.Random) -> None:
    """A real turn, to its end."""
    door = Door(port, "/", **{SESSION: f"work-{chance.random()}"})
    answer = await door.post(call(1, "codex", {"prompt": "Hello."}))
    assert answer["result"]["structuredContent"]["content"] == "Hello! You said: Hello."
    assert (await door.ask("DELETE")).status == 204


async def leaving_work(port: int, chance: random.Random) -> None:
    """A turn that would never end, which nobody waits for: it is cancelled."""
    message, headers = stateless(call(1, "codex", {"prompt": "[[scene: silence]]"}))
    async with Door(port, **headers).stream("POST", message) as events:
        await events.message()


QUICK: tuple[Client, ...] = (
    polite,
    vanishing,
    sending_ahead,
    half_closing,
    trickling,
    flooding,
    not_reading,
    on_a_socket,
    stateless_and_leaving,
)
"""Those that need no agent."""

SLOW: tuple[Client, ...] = (working, leaving_work)
"""Those that do; a few are enough."""
