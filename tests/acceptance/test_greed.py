"""One token takes what it can get, of connections and of memory: the others do not notice."""

import asyncio
import contextlib
import os
import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.relay.frames import Data, Frame, Resume, decode, encode
from codex_mcp.relay.identity import new_keys
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.exec.exec_server import RunningServer, own_exec_server
from tests.support.exec.small_web import own_certificate
from tests.support.http.client import Wire, connect
from tests.support.http.http_server import ChildServer
from tests.support.http.mcp_client import Door, request
from tests.support.patience import PATIENCE
from tests.support.rendezvous import TOKENS, RunningRendezvous, executor_keys, relay_socket
from tests.support.servers.mcp_server import TOUR, Setup
from tests.support.team.team_server import GATE

ADA, BOB = "a" * 32, "b" * 32
FEW = 'ulimit -n 256; exec "$@"'
"""For a shell: a program that may open this many files."""

MIB = 1 << 20
LARGE = 15 * MIB
GREEDY = 24
"""Unfinished messages, of which four fit into what one principal may hold."""


@contextlib.asynccontextmanager
async def shared_server(folder: Path, *flags: str) -> AsyncIterator[ChildServer]:
    """A server that ada and bob may use, and that may open 256 files."""
    (folder / "tokens").write_text(f"ada {ADA}\nbob {BOB}\n")
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(folder, model.codex_overrides(), ["--tokens", str(folder / "tokens"), *flags])
        async with ChildServer(setup, ["sh", "-c", FEW, "sh", *setup.argv(), "--port", "0"]) as server:
            yield server


def at(port: int, token: str, **headers: str) -> Door:
    return Door(port, "/", authorization=f"Bearer {token}", **headers)


def memory(pid: int) -> int:
    """Bytes of memory that a process has."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


async def pings(wire: Wire, port: int, token: str) -> int:
    """The status of one more request on this connection."""
    headers = {"host": f"127.0.0.1:{port}", "authorization": f"Bearer {token}", "content-type": "application/json"}
    return (await wire.ask("POST", "/", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)).status


async def test_idle_connections_of_one_principal_make_room_for_another(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server, contextlib.AsyncExitStack() as crowd:
        bobs = await crowd.enter_async_context(connect(server.port))
        assert await pings(bobs, server.port, BOB) == 200
        for _ in range(240):
            wire = await crowd.enter_async_context(connect(server.port))
            assert await pings(wire, server.port, ADA) == 200
        for number in range(20):
            assert (await at(server.port, BOB).post(request(number, "ping")))["result"] == {}
        assert await pings(bobs, server.port, BOB) == 200, "his first one was never closed"
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 256


async def test_streams_of_one_principal_make_room_for_another_whose_stream_stays(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server, contextlib.AsyncExitStack() as crowd:
        bobs = await crowd.enter_async_context(at(server.port, BOB, mcp_session_id="b").stream("GET"))
        for _ in range(240):
            await crowd.enter_async_context(at(server.port, ADA, mcp_session_id="a").stream("GET"))
        for number in range(20):
            await at(server.port, BOB, mcp_session_id="b").post(request(number, "ping"))
            assert (await bobs.message())["id"] == number


async def test_an_idle_connection_goes_before_a_stream_of_the_same_principal(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server, contextlib.AsyncExitStack() as crowd:
        stream = await crowd.enter_async_context(at(server.port, ADA, mcp_session_id="a").stream("GET"))
        for _ in range(240):
            wire = await crowd.enter_async_context(connect(server.port))
            assert await pings(wire, server.port, ADA) == 200
        await at(server.port, ADA, mcp_session_id="a").post(request(1, "ping"))
        assert (await stream.message())["id"] == 1


async def upgraded(crowd: contextlib.AsyncExitStack, port: int, token: str) -> Wire:
    """A WebSocket, as bytes."""
    wire = await crowd.enter_async_context(connect(port))
    fields = {"host": f"127.0.0.1:{port}", "authorization": f"Bearer {token}", "connection": "upgrade"}
    fields |= {"upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    wire.send("GET", "/ws", b"", fields)
    assert (await wire.read_head())[0] == 101
    return wire


HALF: bytes = b"\x81\xff" + LARGE.to_bytes(8, "big") + bytes(4) + b"x" * (LARGE - 1)
"""All of a WebSocket message but its last byte."""


async def most_of(waiting: set[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
    """Wait until all but four are done; an error is an end, too."""
    async with asyncio.timeout(PATIENCE):
        while len(done := [each for each in waiting if each.done()]) < GREEDY - 4:
            await asyncio.wait(waiting - set(done), return_when=asyncio.FIRST_COMPLETED)
    for each in done:
        each.exception()
    return done


async def test_messages_that_never_end_take_a_bounded_share_of_the_memory(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server, contextlib.AsyncExitStack() as crowd:
        before = memory(server.process.pid)
        bobs = await upgraded(crowd, server.port, BOB)
        sockets = [await upgraded(crowd, server.port, ADA) for _ in range(GREEDY)]
        tasks = TaskSet()
        closings = {tasks.spawn(wire.read_to_the_end(), name="end of a socket") for wire in sockets}
        for wire in sockets:
            wire.send_raw(HALF)
        await most_of(closings)
        assert memory(server.process.pid) - before < 160 * MIB
        bobs.send_raw(masked(msgspec.json.encode(request(7, "ping", _meta={"x": "y" * 4 * MIB}))))
        async with asyncio.timeout(PATIENCE):
            assert b'"id":7' in await bobs.read_some()
        await tasks.aclose()


async def test_bodies_that_never_end_take_a_bounded_share_of_the_memory(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server, contextlib.AsyncExitStack() as crowd:
        before = memory(server.process.pid)
        wires = [await crowd.enter_async_context(connect(server.port)) for _ in range(GREEDY)]
        fields = {"host": f"127.0.0.1:{server.port}", "authorization": f"Bearer {ADA}"}
        fields |= {"content-type": "application/json", "content-length": str(LARGE + 1)}
        for wire in wires:
            wire.send("POST", "/", b"x" * LARGE, fields)
        tasks = TaskSet()
        answers = {tasks.spawn(wire.read_head(), name="answer to a body") for wire in wires}
        refused = await most_of(answers)
        assert memory(server.process.pid) - before < 160 * MIB
        statuses = [each.result()[0] for each in refused if each.exception() is None]
        assert set(statuses) == {503}
        assert (await at(server.port, BOB).post(request(1, "ping", _meta={"x": "y" * 4 * MIB})))["result"] == {}
        await tasks.aclose()


def masked(message: bytes) -> bytes:
    """A frame of a WebSocket client."""
    return b"\x81\xff" + len(message).to_bytes(8, "big") + bytes(4) + message


def padded(number: int, method: str, **params: Any) -> bytes:
    """A request with many bytes that mean nothing."""
    return msgspec.json.encode(request(number, method, **params, _meta={"x": "y" * LARGE}))


async def test_messages_that_were_answered_are_not_kept(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server, contextlib.AsyncExitStack() as crowd:
        before = memory(server.process.pid)
        for number in range(GREEDY):
            wire = await upgraded(crowd, server.port, ADA)
            wire.send_raw(masked(padded(number, "ping")))
            assert b'"result":{}' in await wire.read_some()
        assert memory(server.process.pid) - before < 160 * MIB


async def test_requests_that_run_do_not_keep_what_they_do_not_need(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server, contextlib.AsyncExitStack() as crowd:
        before = memory(server.process.pid)
        wire = await upgraded(crowd, server.port, ADA)
        wanted = {"name": "codex", "arguments": {"prompt": GATE}}
        for number in range(GREEDY // 2):
            wire.send_raw(masked(padded(number, "tools/call", **wanted)))
            await wire.drained()  # what is still on its way is held, and that has a limit
            door = at(server.port, ADA, mcp_session_id=f"session-{number}")
            await crowd.enter_async_context(door.waiting("POST", padded(number, "tools/call", **wanted)))
        wire.send_raw(masked(msgspec.json.encode(request(-1, "ping"))))
        async with asyncio.timeout(PATIENCE):
            while b'"id":-1' not in await wire.read_some():
                pass
        assert memory(server.process.pid) - before < 160 * MIB


async def test_four_hundred_silent_connections_leave_room_for_a_client_of_an_exec_server(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t" * 32)
    argv = [*own_exec_server(), "--ws-auth", "capability-token", "--ws-token-file", str(token)]
    options = ExecServerClientConnectOptions(bearer_token="t" * 32)
    async with (
        RunningServer(["sh", "-c", FEW, "sh", *argv], tmp_path / "home") as server,
        contextlib.AsyncExitStack() as crowd,
    ):
        for _ in range(400):
            await crowd.enter_async_context(connect(server.port))
        async with asyncio.timeout(PATIENCE), ExecServerClient(server.url, options) as client:
            assert await (await client.start(["true"])).wait() == 0


class FewFiles(RunningRendezvous):
    """A rendezvous that may open 256 files."""

    def __init__(self, home: Path, *flags: str) -> None:
        super().__init__(home, 0, *flags)
        self._argv = ["sh", "-c", FEW, "sh", *self._argv]


async def asked_over_tls(port: int, certificate: Path, path: str, token: str) -> bytes:
    """The first line of the answer to a client among 400 connections that say nothing."""
    async with contextlib.AsyncExitStack() as crowd:
        for _ in range(400):
            await crowd.enter_async_context(connect(port))
        async with asyncio.timeout(PATIENCE):
            trusting = ssl.create_default_context(cafile=certificate)
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
            writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\r\n".encode())
            line = await reader.readline()
            writer.transport.abort()
            return line


async def test_connections_without_a_handshake_leave_room_for_a_client_over_tls(tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    own_certificate(certificate)
    async with shared_server(tmp_path, "--tls-cert", str(certificate)) as server:
        assert await asked_over_tls(server.port, certificate, "/metrics", BOB) == b"HTTP/1.1 200 OK\r\n"
    tls = ("--tls-cert", str(certificate), "--tls-key", str(certificate))
    async with FewFiles(tmp_path / "rendezvous", *tls) as rendezvous:
        line = await asked_over_tls(rendezvous.port, certificate, "/environments", TOKENS["bob"])
        assert line == b"HTTP/1.1 200 OK\r\n"


async def test_harnesses_of_one_principal_make_room_for_another_at_a_rendezvous(tmp_path: Path) -> None:
    async with FewFiles(tmp_path) as rendezvous, contextlib.AsyncExitStack() as crowd:
        executor = await relay_socket(await rendezvous.as_("ci").register("build-1", executor_keys().public, ""))
        crowd.push_async_callback(executor.aclose)
        for _ in range(240):
            answer = await rendezvous.as_("alice").connect("build-1", new_keys().public)
            crowd.push_async_callback((await relay_socket(answer)).aclose)
        registered = await rendezvous.as_("bob").register("bob-1", executor_keys().public, "")
        crowd.push_async_callback((await relay_socket(registered)).aclose)


async def test_sockets_that_read_nothing_take_a_bounded_share_of_a_rendezvouss_memory(tmp_path: Path) -> None:
    frame = 200 * 1024
    async with RunningRendezvous(tmp_path) as rendezvous, contextlib.AsyncExitStack() as crowd:
        executor = await relay_socket(await rendezvous.as_("ci").register("build-1", executor_keys().public, ""))
        crowd.push_async_callback(executor.aclose)
        for number in range(GREEDY):
            answer = await rendezvous.as_("alice").connect("build-1", new_keys().public)
            harness = await relay_socket(answer)
            crowd.push_async_callback(harness.aclose)
            harness.send(encode(Frame(f"s{number}", Resume(0))))
            await executor.receive()
        before = memory(rendezvous.process.pid)
        for seq in range(24 * MIB // frame):
            for number in range(GREEDY):
                executor.send(encode(Frame(f"s{number}", Data(seq, bytes(frame)))))
            await executor.drain(4 * MIB)
        # Frames of the executor are passed on in order: when this one arrives, so have all others.
        reads = await relay_socket(await rendezvous.as_("alice").connect("build-1", new_keys().public))
        crowd.push_async_callback(reads.aclose)
        reads.send(encode(Frame("last", Resume(0))))
        while not any(decode(frame).stream_id == "last" for frame in await executor.receive()):
            pass
        executor.send(encode(Frame("last", Data(0, b"through"))))
        async with asyncio.timeout(PATIENCE):
            assert decode((await reads.receive())[0]).body == Data(0, b"through")
        assert memory(rendezvous.process.pid) - before < 160 * MIB
