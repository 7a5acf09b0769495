"""Who has no valid token takes nothing from those who have one: no descriptors, no streams after it was revoked."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect as connect_socket
from websockets.exceptions import ConnectionClosed

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.client import connect
from tests.support.http.http_server import ChildServer
from tests.support.http.mcp_client import Door, call, request
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR, Setup

ADA, BOB = "a" * 32, "b" * 32
SAY = '[[scene: say text="done"]]'


@contextlib.asynccontextmanager
async def shared_server(folder: Path, *flags: str, descriptors: int = 1024) -> AsyncIterator[ChildServer]:
    """A server that ada and bob may use, which may open this many files."""
    (folder / "tokens").write_text(f"ada {ADA}\nbob {BOB}\n")
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(folder, model.codex_overrides(), ["--tokens", str(folder / "tokens"), *flags])
        limited = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *setup.argv(), "--port", "0"]
        async with ChildServer(setup, limited) as server:
            yield server


def at(port: int, token: str, path: str = "/", **headers: str) -> Door:
    return Door(port, path, authorization=f"Bearer {token}", **headers)


async def test_hundreds_of_connections_without_a_token_leave_room_for_a_client_that_has_one(tmp_path: Path) -> None:
    async with shared_server(tmp_path, descriptors=256) as server, contextlib.AsyncExitStack() as crowd:
        for _ in range(400):
            await crowd.enter_async_context(connect(server.port))
        for number in range(3):
            answer = await at(server.port, ADA).post(call(number, "codex", {"prompt": SAY}))
            assert answer["result"]["structuredContent"]["content"] == "done"
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 256
    assert "connections without an admitted request" in server.log


async def test_a_client_with_a_token_comes_in_while_others_keep_connecting(tmp_path: Path) -> None:
    async with shared_server(tmp_path, descriptors=160) as server, contextlib.AsyncExitStack() as crowd:
        for number in range(20):
            several = asyncio.gather(*(crowd.enter_async_context(connect(server.port)) for _ in range(20)))
            assert (await at(server.port, ADA).post(request(number, "ping")))["result"] == {}
            await several


async def test_what_a_revoked_token_has_open_is_closed_and_the_others_stay(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as server:
        sockets = [
            await connect_socket(
                f"ws://127.0.0.1:{server.port}/ws", additional_headers={"authorization": f"Bearer {token}"}, proxy=None
            )
            for token in (ADA, BOB)
        ]
        async with (
            sockets[0] as kept,
            sockets[1] as revoked,
            at(server.port, ADA, mcp_session_id="x").stream("GET") as heard,
            at(server.port, BOB, mcp_session_id="x").stream("GET") as cut,
        ):
            (tmp_path / "tokens").write_text(f"ada {ADA}\n")
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(ConnectionClosed) as closed:
                    await revoked.recv()
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    assert await cut.next() is None
                await at(server.port, ADA, mcp_session_id="x").post(request(1, "ping"))
                assert (await heard.message())["id"] == 1
                await kept.send('{"jsonrpc":"2.0","id":2,"method":"ping"}')
                assert '"id":2' in str(await kept.recv())
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "the token is no longer valid")
        assert (await at(server.port, BOB).ask("POST", request(1, "ping"))).status == 401
    assert "closed a connection of bob: its token is no longer valid" in server.log
