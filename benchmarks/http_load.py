"""`python -m benchmarks.http_load`: the clients, in their own process. One order a line on stdin, one answer a line.

Connections are kept alive, and each has one request at a time. Every answer is looked at: one that is not what was
asked for ends the measurement.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Sequence
from typing import TypeAlias

import httptools
import msgspec
import uvloop
from msgspec import Struct

from benchmarks.http_messages import TEXT, Caller, Era
from benchmarks.samples import quantile

OPENING = 32
"""Sessions that are being opened at once."""

PATIENCE = 60.0
"""Seconds until an order is taken for a failure."""


class Call(Struct, frozen=True, tag="call"):
    """So many clients call `echo`, or the product's `codex_wait`, again and again, for a while."""

    port: int
    era: Era
    clients: int
    seconds: float
    waits: bool = False


class Count(Struct, frozen=True, tag="count"):
    """One client calls `count`, several times, and reads its notifications."""

    port: int
    era: Era
    calls: int
    to: int


class Open(Struct, frozen=True, tag="open"):
    """Open more sessions, each with a stream, until there are so many; keep them."""

    port: int
    total: int


class Ping(Struct, frozen=True, tag="ping"):
    """Ping so many times, one after the other, each in another session of those that are open."""

    port: int
    times: int


class Close(Struct, frozen=True, tag="close"):
    """Hang up everywhere."""


class Done(Struct, frozen=True):
    """What came of an order: how many there were, how long it took, and how long each took, in milliseconds."""

    count: int = 0
    seconds: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    failed: str = ""


Order: TypeAlias = Call | Count | Open | Ping | Close


class UnexpectedAnswer(Exception):
    """The server did not do what it was asked for."""


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self.session = ""
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._answered: asyncio.Future[None] | None = None
        self._is_stream = False
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.WriteTransport) or hasattr(transport, "write")
        self._transport = transport  # type: ignore[assignment]  # uvloop's is one by what it can

    def data_received(self, data: bytes) -> None:
        """Part of an answer."""
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The server has hung up."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(UnexpectedAnswer("the server hung up"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header of an answer."""
        if name.lower() == b"mcp-session-id":
            self.session = value.decode()

    def on_headers_complete(self) -> None:
        """The stream of a GET has no end: it is open when its head is here."""
        if self._is_stream:
            self._settle()

    def on_body(self, body: bytes) -> None:
        """Part of a body. What comes on an idle stream is not kept."""
        if not self._is_stream:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """The answer is here."""
        if not self._is_stream:
            self._settle()

    async def ask(self, request: bytes) -> bytes:
        """Send a request and wait for the body of its answer. Raises UnexpectedAnswer."""
        assert self._transport is not None
        self._answered = asyncio.get_running_loop().create_future()
        self._body = []
        self._transport.write(request)
        await self._answered
        return b"".join(self._body)

    async def listen(self, request: bytes) -> None:
        """Open the session's stream. The connection is good for nothing else afterwards."""
        self._is_stream = True
        await self.ask(request)

    def hang_up(self) -> None:
        """It is over."""
        if self._transport is not None:
            self._transport.close()

    def _settle(self) -> None:
        status = self._parser.get_status_code()
        assert self._answered is not None
        if status in (200, 202):
            self._answered.set_result(None)
        else:
            self._answered.set_exception(UnexpectedAnswer(f"HTTP status {status}: {b''.join(self._body).decode()}"))


async def dial(port: int) -> Connection:
    """A new connection."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


class Client:
    """A connection, and who speaks on it."""

    def __init__(self, connection: Connection, caller: Caller) -> None:
        self.connection = connection
        self.caller = caller
        self._requests = 0

    async def echo(self) -> None:
        """Call `echo`."""
        self._requests += 1
        text = f"{TEXT} {self._requests}"
        body = await self.connection.ask(self.caller.call("echo", {"text": text}, self._requests))
        if text.encode() not in body or b'"isError":true' in body:
            raise UnexpectedAnswer(f"echo was answered with {body.decode()}")

    async def wait(self) -> None:
        """Call `codex_wait`, where there is nothing to wait for."""
        self._requests += 1
        body = await self.connection.ask(self.caller.call("codex_wait", {}, self._requests))
        if b'"result"' not in body or b'"isError":true' in body:
            raise UnexpectedAnswer(f"codex_wait was answered with {body.decode()}")

    async def count(self, to: int) -> None:
        """Call `count`; all its notifications must come."""
        self._requests += 1
        body = await self.connection.ask(self.caller.call("count", {"to": to}, self._requests))
        received = body.count(b'"notifications/progress"')
        if received != to or b"counted" not in body:
            raise UnexpectedAnswer(f"of {to} notifications came {received}")


async def joined(port: int, era: Era) -> Client:
    """A client, after the handshake if there is one."""
    connection = await dial(port)
    caller = Caller(port, era)
    if era is Era.HANDSHAKE:
        await connection.ask(caller.initialize())
        caller = Caller(port, era, connection.session)
        await connection.ask(caller.post("notifications/initialized", {}, None))
    return Client(connection, caller)


class Load:
    """Carries orders out."""

    def __init__(self) -> None:
        self._clients: dict[tuple[int, Era], list[Client]] = {}
        self._open: list[Client] = []

    async def carry_out(self, order: Order) -> Done:
        """Do it."""
        match order:
            case Call():
                return await self._call(order)
            case Count():
                return await self._count(order)
            case Open():
                return await self._open_more(order)
            case Ping():
                return await self._ping(order)
            case Close():
                self._hang_up()
                return Done()

    async def _call(self, order: Call) -> Done:
        clients = await self._joined(order.port, order.era, order.clients)
        times: list[float] = []
        began = time.perf_counter()
        await asyncio.gather(*(_call_until(client, order, began + order.seconds, times) for client in clients))
        return _done(times, time.perf_counter() - began)

    async def _count(self, order: Count) -> Done:
        (client,) = await self._joined(order.port, order.era, 1)
        began = time.perf_counter()
        for _ in range(order.calls):
            await client.count(order.to)
        return Done(order.calls * order.to, time.perf_counter() - began)

    async def _open_more(self, order: Open) -> Done:
        missing = order.total - len(self._open)
        numbers = iter(range(missing))
        began = time.perf_counter()

        async def open_some() -> None:
            for _ in numbers:
                client = await joined(order.port, Era.HANDSHAKE)
                await client.connection.listen(client.caller.listen())
                self._open.append(client)

        await asyncio.gather(*(open_some() for _ in range(OPENING)))
        return Done(missing, time.perf_counter() - began)

    async def _ping(self, order: Ping) -> Done:
        connection = await dial(order.port)
        times = []
        step = max(1, len(self._open) // order.times)
        began = time.perf_counter()
        for number in range(order.times):
            caller = self._open[number * step % len(self._open)].caller
            sent = time.perf_counter()
            await connection.ask(caller.post("ping", {}, number + 1))
            times.append((time.perf_counter() - sent) * 1000)
        connection.hang_up()
        return _done(times, time.perf_counter() - began)

    async def _joined(self, port: int, era: Era, number: int) -> Sequence[Client]:
        """The clients of an earlier order, and more if those are not enough."""
        clients = self._clients.setdefault((port, era), [])
        while len(clients) < number:
            clients.append(await joined(port, era))
        return clients[:number]

    def _hang_up(self) -> None:
        for client in (*self._open, *(each for clients in self._clients.values() for each in clients)):
            client.connection.hang_up()
        self._open.clear()
        self._clients.clear()


async def _call_until(client: Client, order: Call, end: float, times: list[float]) -> None:
    while (sent := time.perf_counter()) < end:
        await (client.wait() if order.waits else client.echo())
        times.append((time.perf_counter() - sent) * 1000)


def _done(times: Sequence[float], seconds: float) -> Done:
    return Done(len(times), seconds, quantile(times, 0.5), quantile(times, 0.99))


async def _work() -> None:
    load = Load()
    orders = msgspec.json.Decoder(Order)
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        try:
            async with asyncio.timeout(PATIENCE):
                done = await load.carry_out(orders.decode(line))
        except (UnexpectedAnswer, OSError, TimeoutError) as exc:
            done = Done(failed=f"{type(exc).__name__}: {exc}")
        print(msgspec.json.encode(done).decode(), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, contextlib.suppress(KeyboardInterrupt):
        runner.run(_work())
