"""Connections to the control socket that misbehave, and servers that do not answer."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from codex_mcp.control.failures import CannotReach, Why
from codex_mcp.control.server import Caller, connect_server, living_nodes
from codex_mcp.wire.control import MAX_MESSAGE_BYTES
from tests.support.servers.control_socket import RawControl, raw_control, socket_of
from tests.support.servers.like_macos import like_macos
from tests.support.servers.mcp_server import SOURCES, Json
from tests.support.state.quick_lease import quick_team
from tests.support.team.team_server import GATE, refusal, say, structured, team_server

PERSON = Caller(program="test", person="mira")


async def test_more_connections_than_there_may_be_are_refused_and_told(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(16):
                await stack.enter_async_context(raw_control(path))
            with pytest.raises(CannotReach, match="has 16 control connections already"):
                async with connect_server(str(server.state_dir), path.stem, PERSON):
                    pass
        has_room = False
        while not has_room:  # as soon as it has noticed that they are gone
            with contextlib.suppress(CannotReach):
                async with connect_server(str(server.state_dir), path.stem, PERSON):
                    has_room = True


async def test_a_connection_has_so_many_open_requests_and_no_more(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(GATE, identity="arch", background=True)
        async with raw_control(await socket_of(server)) as client:
            for _ in range(70):
                client.send("tools/call", {"name": "codex_wait", "arguments": {"ids": ["arch"]}})
            refused = 0
            while refused < 6:
                message = await client.read()
                assert message is not None
                refused += "too many requests" in str(message.get("error"))
        assert structured(await server.run("codex_interrupt", {"id": "arch"}))["identity"] == "arch"


async def test_unreadable_lines_are_answered_until_there_are_too_many(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        async with raw_control(path) as client:
            client.write(b"x" * (MAX_MESSAGE_BYTES + 1) + b"\n" + b"no json\n" * 9)
            told = await until_closed(client)
            assert "larger than 1048576 bytes" in told[0]
            assert len(told) == 8
        async with raw_control(path) as client:  # a line without end
            with contextlib.suppress(ConnectionError):
                while not client.writer.is_closing():
                    client.write(b"x" * MAX_MESSAGE_BYTES)
                    await client.writer.drain()
            assert await client.read() is None
        assert "hello" in str(await server.start(say("hello")))


async def until_closed(client: RawControl) -> list[str]:
    told = []
    while (message := await client.read()) is not None:
        told.append(str(message))
    return told


async def test_one_who_asks_without_end_and_never_reads_delays_nobody(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"), identity="arch")
        path = await socket_of(server)
        async with raw_control(path) as flooding, raw_control(path) as other:
            await flooding.ask("control/follow", {"topics": ["thread:arch"]})
            flooding.writer.transport.pause_reading()  # type: ignore[attr-defined]
            with contextlib.suppress(ConnectionError):
                while flooding.writer.transport.get_write_buffer_size() == 0:
                    flooding.send("tools/list", {})  # the server stops reading once its answers are not read
            assert "result" in await other.ask("ping", {})
            assert (await server.reply("arch", say("on")))["content"] == "on"
            flooding.writer.transport.abort()


async def test_a_follower_that_does_not_read_delays_nobody_and_is_told_what_it_missed(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"), identity="arch")
        async with raw_control(await socket_of(server)) as slow:
            await slow.ask("control/follow", {"topics": ["thread:arch"]})
            slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
            told = await server.reply("arch", f'[[scene: stream piece="{"x" * 1000}" count=3000]]')
            assert told["status"] == "completed"
            slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
            told = await until_method(slow, "control/resync")
            assert told == {"reason": "slow"}
            await server.reply("arch", say("on"))
            assert (await until_method(slow, "control/event"))["kind"] == "turn"


async def until_method(client: RawControl, method: str) -> Json:
    """The params of the next message of this method."""
    while (message := await client.read()) is not None:
        if message.get("method") == method:
            params: Json = message["params"]
            return params
    raise AssertionError(f"no {method} came")


async def test_a_stopped_server_does_not_answer_and_nobody_waits_for_it(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        async with connect_server(str(server.state_dir), path.stem, PERSON, name="server process 1") as (reached, _):
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                with pytest.raises(CannotReach, match="server process 1 does not answer: it has said nothing for 4 s"):
                    await reached.call("tools/list", {})
                with pytest.raises(CannotReach) as silent:
                    async with connect_server(str(server.state_dir), path.stem, PERSON):
                        pass
                assert (silent.value.why, "for 2 s" in str(silent.value)) == (Why.SILENT, True)
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
            assert await reached.call("ping", {}) is not None


async def test_a_killed_server_has_ended_and_the_next_one_removes_its_socket(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (killed, _model):
        await killed.start(say("hello"))
        path = await socket_of(killed)
        folder = str(killed.state_dir)
        async with connect_server(folder, path.stem, PERSON) as (reached, _):
            killed.process.kill()
            await killed.exit_code()
            assert (await reached.until_lost()).why is Why.ENDED
        assert path.exists()
        with pytest.raises(CannotReach, match="has ended"):
            async with connect_server(folder, path.stem, PERSON):
                pass
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        await socket_of(server)
        assert not path.exists()


async def test_a_server_that_holds_its_lock_and_has_no_socket_is_too_old(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        path.unlink()
        with pytest.raises(CannotReach, match="cannot be controlled from here: it has no control socket"):
            async with connect_server(str(server.state_dir), path.stem, PERSON):
                pass


async def test_a_socket_that_cannot_be_made_is_one_warning_and_no_more(tmp_path: Path) -> None:
    """As on macOS, where a socket's path may have 103 bytes."""
    folder = tmp_path / ("x" * 100)
    environment = like_macos(tmp_path, SOURCES)
    async with team_server(tmp_path, "--state-dir", str(folder), environment=environment) as (server, _model):
        assert (await server.start(say("hello"), identity="arch"))["content"] == "hello"
        await server.until(lambda: "cannot make the control socket" in server.log)
        assert "the path of a socket may have 103 bytes" in server.log
        assert "no agent" in refusal(await server.run("codex_close", {"id": "nobody"})).lower()
    assert server.log.count("cannot make the control socket") == 1


async def test_a_server_that_joins_again_has_another_socket(tmp_path: Path) -> None:
    async with quick_team(tmp_path, ()) as (one, _), quick_team(tmp_path, ()) as (other, _model):
        arch = (await one.start(say("hello"), identity="arch"))["codex_id"]
        folder, before = str(one.state_dir), one.registry()[arch]["owner"]["node"]
        path = one.state_dir / "nodes" / f"{before}.sock"
        await one.until(path.exists)
        await other.start(say("hello"), identity="dev")
        async with connect_server(folder, before, PERSON) as (reached, _):
            os.kill(one.process.pid, signal.SIGSTOP)
            try:
                await other.until(lambda: f"server {before} (process {one.process.pid} on" in other.log)
            finally:
                os.kill(one.process.pid, signal.SIGCONT)
            assert (await reached.until_lost()).why is Why.ENDED  # what it ran is the other's now
        while len(nodes := set(living_nodes(folder))) < 2 or before in nodes:
            await one.status()
        assert not path.exists()
        for node in nodes:
            async with connect_server(folder, node, PERSON) as (_, greeting):
                assert greeting.pid in (one.process.pid, other.process.pid)
