"""The server on two pipes, in this process and without a Codex. The whole program is in acceptance/."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.serve import serve_stdio
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_session import NO_CODEX, Json, no_codex
from tests.support.settings import make_settings


class Pipes:
    """A client's ends of the pipes of a server, and the server's task."""

    def __init__(self, to_server: int, from_server: int, serving: asyncio.Task[None]) -> None:
        self.to_server = to_server
        self.from_server = from_server
        self.serving = serving

    def say(self, *messages: object) -> None:
        os.write(self.to_server, b"".join(msgspec.json.encode(message) + b"\n" for message in messages))

    def hang_up(self) -> None:
        os.close(self.to_server)
        self.to_server = -1

    async def ended(self) -> list[Json]:
        """Wait for the end, and return all that it said."""
        async with asyncio.timeout(PATIENCE):
            await self.serving
        said = b""
        while data := os.read(self.from_server, 65536):
            said += data
        return [msgspec.json.decode(line) for line in said.splitlines()]


@asynccontextmanager
async def serving(home: Path, **settings: Any) -> AsyncIterator[Pipes]:
    its_input, to_server = os.pipe()
    from_server, its_output = os.pipe()
    tasks = TaskSet()
    chosen = make_settings(codex_home=str(home), **settings)
    with os.fdopen(its_input, "rb", buffering=0) as stdin, os.fdopen(its_output, "wb", buffering=0) as stdout:
        work = serve_stdio(stdin, stdout, chosen, no_codex)
        pipes = Pipes(to_server, from_server, tasks.spawn(work, name="server"))
        try:
            yield pipes
        finally:
            await tasks.aclose()
            os.close(from_server)
            if pipes.to_server >= 0:
                pipes.hang_up()


def call(tool: str, arguments: Json, request_id: int = 1) -> Json:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}


async def test_what_was_asked_before_the_end_of_stdin_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.say(PING, call("codex", {"prompt": "hi", "cwd": str(tmp_path)}))
        server.hang_up()
        said = await server.ended()
        assert [message["id"] for message in said] == [0, 1]
        assert said[1]["result"] == {"content": [{"type": "text", "text": NO_CODEX}], "isError": True}


async def test_silence_is_served_too(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.hang_up()
        assert await server.ended() == []


async def test_half_a_message_at_the_end_is_answered_with_an_error(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        os.write(server.to_server, b'{"jsonrpc": "2.0", "id": 1, "met')
        server.hang_up()
        (said,) = await server.ended()
        assert said["error"]["code"] == -32700


async def test_a_signal_ends_it_although_stdin_is_open(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.say(PING)
        await readable(server.from_server)
        signal.raise_signal(signal.SIGTERM)
        assert [message["id"] for message in await server.ended()] == [0]


async def readable(descriptor: int) -> None:
    there = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, there.set)
    try:
        async with asyncio.timeout(PATIENCE):
            await there.wait()
    finally:
        loop.remove_reader(descriptor)


async def test_signals_are_ours_no_longer_when_it_has_ended(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with serving(tmp_path) as server:
        server.hang_up()
        await server.ended()
        assert signal.getsignal(signal.SIGTERM) == before


async def test_a_client_can_end_it_with_shutdown_although_stdin_is_open(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        server.say(PING, {"jsonrpc": "2.0", "id": 1, "method": "shutdown"})
        said = await server.ended()
        assert [(message["id"], message["result"]) for message in said] == [(0, {}), (1, {})]
