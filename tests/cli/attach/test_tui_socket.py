"""The socket of an attached TUI: for this TUI only, and what goes through it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from codex_mcp.base.errors import Refused
from codex_mcp.base.tasks import spawn
from codex_mcp.cli.attach.tui_socket import TuiSocket
from codex_mcp.control import failures
from codex_mcp.control.pipe import Pipe
from codex_mcp.transports.local.sockets import address_for_others
from codex_mcp.wire import control
from tests.support.patience import PATIENCE

ATTACHED = control.Attached("t", "/site", "0.163.0")

CLIENT = """
import os, sys
from websockets.sync.client import unix_connect
if "double" in sys.argv and os.fork():
    os.wait(); sys.exit()
try:
    with unix_connect(sys.argv[1], "ws://localhost/") as socket:
        socket.send('{"id": 1,\\n"method": "x"}')
        print("got", socket.recv(timeout=30), flush=True)
except Exception as exc:
    print("refused", type(exc).__name__, flush=True)
"""
"""Another program, which connects as a TUI does."""


def client(path: str, *words: str) -> tuple[int, "asyncio.Task[str]"]:
    """Start one; its process, and what it will have said."""
    process = subprocess.Popen(
        [sys.executable, "-c", "input(); exec(__import__('os').environ['CLIENT'])", path, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "CLIENT": CLIENT},
    )
    said = spawn(asyncio.to_thread(lambda: process.communicate("\n", PATIENCE)[0].strip()), name="a client")
    return process.pid, said


@asynccontextmanager
async def server(folder: Path) -> AsyncIterator[tuple[Pipe, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A pipe, and its other end."""
    came: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.get_running_loop().create_future()
    path = str(folder / "server.sock")
    listener = await asyncio.start_unix_server(lambda *ends: came.set_result(ends), path)
    reader, writer = await asyncio.open_unix_connection(path)
    its_reader, its_writer = await came
    try:
        yield Pipe(reader, writer, "the server"), its_reader, its_writer
    finally:
        writer.close()
        its_writer.close()
        listener.close()


async def test_only_the_tui_may_connect(tmp_path: Path) -> None:
    others: list[str] = []

    async def somebody_else() -> tuple[Pipe, control.Attached]:
        others.append("connected")
        raise failures.ended("its server")

    async with server(tmp_path) as (pipe, reader, writer):
        socket = TuiSocket(str(tmp_path), somebody_else, pipe)
        await socket.open()
        with address_for_others(socket.path) as address:
            pid, said = client(address)
            socket.serve(pid)
            assert (await reader.readline()) == b'{"id": 1, "method": "x"}\n', "one line for each message"
            _, strange = client(address)
            assert (await strange).startswith("refused")
            _, orphan = client(address, "double")
            assert (await orphan).startswith("refused")
            assert others == []
            writer.write(b'{"id":1,"result":{}}\n')
            assert await said == 'got {"id":1,"result":{}}'
        await socket.aclose()


async def test_an_agent_that_is_gone_ends_it_and_a_server_that_is_gone_does_not(tmp_path: Path) -> None:
    tries = 0

    async def closed_later() -> tuple[Pipe, control.Attached]:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise failures.ended("its server")
        raise Refused("it is closed")

    async with server(tmp_path) as (pipe, _reader, writer):
        socket = TuiSocket(str(tmp_path), closed_later, pipe)
        await socket.open()
        writer.close()
        for number in range(3):  # the first one has the connection that is there
            pid, said = client(socket.path)
            socket.serve(pid)
            assert (await said).startswith("refused"), number
        assert str(await socket.lost()) == "it is closed"
        await socket.aclose()


def test_a_long_path_is_reached_by_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    with address_for_others(str(folder / "tui.sock")) as address:
        assert len(address) < 100
        assert Path(address).parent.resolve() == folder
    with address_for_others("/short") as address:
        assert address == "/short"
