"""Our client and an executor, which reach each other only through a rendezvous."""

import asyncio
import contextlib
import functools
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import pytest

from codex_mcp.execclient import relay_route
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import CannotConnect, ExecServerError, OutcomeUnknown
from codex_mcp.execclient.options import StartOptions
from codex_mcp.execclient.process import Process
from codex_mcp.relay import retention
from codex_mcp.relay.frames import Ack, Body, Frame, Handshake, Reset, decode, encode
from codex_mcp.relay.liveness import Liveness
from codex_mcp.wire.exec.protocol import ProcessOutput
from tests.support import processes
from tests.support.patience import PATIENCE
from tests.support.rendezvous import (
    HostileRendezvous,
    RunningExecutor,
    RunningRendezvous,
    TcpProxy,
    as_harness,
    executor_keys,
    relay_socket,
    relay_url,
)
from tests.support.servers.ports import fixed_port

ATTACHED = ": attached by"
"""In the executor's log, each time a session is opened or resumed."""


@dataclass
class Remote:
    """An executor and a client, each behind a wire of its own to the rendezvous."""

    rendezvous: RunningRendezvous
    executor: RunningExecutor
    client: ExecServerClient
    executors_wire: TcpProxy
    clients_wire: TcpProxy

    async def talks(self) -> Process:
        """A process that answers each line."""
        return await self.client.start(
            ["sh", "-c", "while read x; do echo got $x; done"], StartOptions(pipe_stdin=True)
        )


HELD: Final = 1e6
"""Seconds; for a timer that must not fire."""

WITHOUT_RETRIES: Final = f"""
import sys
from codex_mcp.cli.main import main
from codex_mcp.relay import retention
retention.FIRST_RETRY = {HELD}
sys.exit(main(sys.argv[1:]))
"""
"""An executor that repeats nothing because of the time alone."""


@contextlib.asynccontextmanager
async def remote(folder: Path, executor_argv: Sequence[str] = ()) -> AsyncIterator[Remote]:
    async with (
        RunningRendezvous(folder / "rendezvous", fixed_port()) as rendezvous,
        TcpProxy(rendezvous.port) as executors_wire,
        TcpProxy(rendezvous.port) as clients_wire,
        RunningExecutor(executors_wire.url, folder / "executor", executor_argv) as executor,
    ):
        await executor.said("connected to")
        async with ExecServerClient(relay_url(clients_wire.url), as_harness()) as client:
            yield Remote(rendezvous, executor, client, executors_wire, clients_wire)


async def output(process: Process) -> bytes:
    return b"".join([event.chunk async for event in process.events() if isinstance(event, ProcessOutput)])


async def answer(process: Process, line: str) -> None:
    """Say something, and wait for the echo."""
    await process.write(f"{line}\n".encode())
    assert await next_line(process) == f"got {line}\n".encode()


async def next_line(process: Process) -> bytes:
    heard = b""
    async with asyncio.timeout(PATIENCE):
        async for event in process.events():
            if isinstance(event, ProcessOutput):
                heard += event.chunk
                if heard.endswith(b"\n"):
                    break
    return heard


async def test_commands_terminals_and_files_work_there(tmp_path: Path) -> None:
    async with remote(tmp_path) as there:
        process = await there.client.start(["sh", "-c", "pwd; echo wrong >&2; exit 7"])
        assert await output(process) == f"{there.executor.home}\nwrong\n".encode()
        assert await process.wait() == 7
        terminal = await there.client.start(["sh", "-c", "read x; echo [$x]; tty"], StartOptions(tty=True))
        await terminal.write(b"typed\n")
        said = await output(terminal)
        assert b"[typed]" in said
        assert b"/dev/pts/" in said
        written = there.executor.home / "file"
        await there.client.files.write_file(str(written), bytes(20_000_000))
        assert written.stat().st_size == 20_000_000
        assert await there.client.files.read_file(str(written)) == bytes(20_000_000)
        big = await there.client.start(["head", "-c", "5000000", "/dev/zero"])
        assert await output(big) == bytes(5_000_000)


@pytest.mark.parametrize("whose", ["executors_wire", "clients_wire"])
async def test_a_cut_wire_loses_nothing_and_needs_no_new_session(tmp_path: Path, whose: str) -> None:
    async with remote(tmp_path) as there:
        process = await there.talks()
        await answer(process, "before")
        for number in range(3):
            getattr(there, whose).cut()
            await answer(process, f"after cut {number}")
        talker = await there.client.start(["sh", "-c", "for i in $(seq 3000); do echo line $i; done"])
        getattr(there, whose).cut()
        assert await output(talker) == b"".join(b"line %d\n" % number for number in range(1, 3001))
        await process.close_stdin()
        assert await process.wait() == 0
        assert there.executor.stderr.count(ATTACHED) == 1


async def test_what_the_client_says_while_it_is_cut_off_is_repeated_by_its_return_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FIRST_RETRY", HELD)
    async with remote(tmp_path) as there:
        process = await there.talks()
        await cut_off(there.clients_wire)
        asyncio.get_running_loop().call_soon(there.clients_wire.gate.set)
        await answer(process, "said without a connection")
        assert there.executor.stderr.count(ATTACHED) == 1


async def test_what_an_executor_says_while_it_is_cut_off_is_repeated_by_its_return_alone(tmp_path: Path) -> None:
    executor = [sys.executable, "-c", WITHOUT_RETRIES, "exec-server", "--log-level", "info"]
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with remote(tmp_path, executor) as there:
        process = await there.client.start(["sh", "-c", f"echo $$; read x < {gate}; echo said without a connection"])
        pid = int(await next_line(process))
        await cut_off(there.executors_wire)
        await asyncio.to_thread(gate.write_text, "go\n")
        await processes.ended(processes.Process(pid, ()))
        there.executors_wire.gate.set()
        async with asyncio.timeout(PATIENCE):
            assert await output(process) == b"said without a connection\n"
        assert there.executor.stderr.count(ATTACHED) == 1


async def cut_off(wire: TcpProxy) -> None:
    """Cut a wire, and wait until its end tries to return, which it cannot before the gate is set."""
    wire.gate.clear()
    before = wire.accepted
    wire.cut()
    await wire.knocks(before + 1)


async def test_a_rendezvous_that_is_killed_and_started_again_loses_nothing(tmp_path: Path) -> None:
    async with remote(tmp_path) as there:
        process = await there.talks()
        await answer(process, "before")
        there.rendezvous.signal(signal.SIGKILL)
        await there.rendezvous.exit_code()
        async with RunningRendezvous(tmp_path / "rendezvous", there.rendezvous.port):
            await answer(process, "after")
            await process.close_stdin()
            assert await process.wait() == 0
        assert there.executor.stderr.count(ATTACHED) == 1


async def test_a_rendezvous_that_drops_and_acknowledges_everything_itself_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_route, "Liveness", functools.partial(Liveness, quiet=0.5, answer=1.5))
    gate = tmp_path / "gate"
    async with (
        HostileRendezvous(tmp_path / "rendezvous") as rendezvous,
        RunningExecutor(rendezvous.url, tmp_path / "executor") as executor,
    ):
        await executor.said("connected to")
        options = msgspec.structs.replace(as_harness(), recovery_seconds=PATIENCE)
        async with ExecServerClient(relay_url(rendezvous.url), options) as client, asyncio.timeout(2 * PATIENCE):
            process = await client.start(["sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done; echo late"])
            await rendezvous.turn()
            gate.touch()
            with contextlib.suppress(OutcomeUnknown):  # unless the loss was noticed before the call
                await client.environment_status()
            assert await output(process) == b"late\n"
            assert executor.stderr.count(ATTACHED) >= 2


async def test_an_executor_that_is_killed_is_noticed_and_its_successor_used(tmp_path: Path) -> None:
    async with remote(tmp_path) as there:
        process = await there.talks()
        await answer(process, "before")
        there.executor.signal(signal.SIGKILL)
        await there.executor.exit_code()
        async with RunningExecutor(there.executors_wire.url, tmp_path / "executor") as successor:
            await successor.said("connected to")
            with pytest.raises(ExecServerError):
                await output(process)
            async with ExecServerClient(relay_url(there.clients_wire.url), as_harness()) as client:
                assert await (await client.start(["true"])).wait() == 0


async def test_another_executor_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    async with remote(tmp_path) as there:
        await there.executor.said("fingerprint sha256:")
        pin = there.executor.stderr.partition("fingerprint ")[2].split()[0]
        url = relay_url(there.rendezvous.url)
        async with ExecServerClient(url, as_harness(pin=pin)) as client:
            assert await (await client.start(["true"])).wait() == 0
        with pytest.raises(CannotConnect, match="is pinned"):
            await ExecServerClient(url, as_harness(pin="sha256:" + "0" * 64)).__aenter__()
        with pytest.raises(CannotConnect, match="may not reach"):
            await ExecServerClient(url, as_harness("bob")).__aenter__()


@pytest.mark.parametrize(
    "url", ["relay+https://", "relay+https://host", "relay+https://host/a/b", "relay+ftp://host/a"]
)
def test_an_address_names_a_host_and_an_environment(url: str) -> None:
    with pytest.raises(CannotConnect, match="looks like relay"):
        ExecServerClient(url)


async def test_a_registry_that_gives_out_an_unusable_key_or_address_is_refused() -> None:
    with pytest.raises(CannotConnect, match="cannot be used"):
        await relay_route.open_socket("gopher://127.0.0.1/")
    with pytest.raises(ConnectionError):
        await relay_route.open_socket(f"ws://127.0.0.1:{fixed_port()}/")


async def test_a_token_that_is_removed_while_the_wire_is_cut_ends_the_session(tmp_path: Path) -> None:
    async with remote(tmp_path) as there:
        process = await there.talks()
        await answer(process, "before")
        lines = there.rendezvous.tokens.read_text().splitlines()
        there.rendezvous.tokens.write_text("\n".join(line for line in lines if not line.startswith("alice")))
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(ExecServerError):
                await output(process)


@pytest.mark.parametrize(
    ("reply", "why"), [(Reset("go away"), "refused: go away"), (Handshake(bytes(2000)), "no secure connection")]
)
async def test_an_executor_that_refuses_or_cannot_prove_its_key_is_not_used(
    tmp_path: Path, reply: Body, why: str
) -> None:
    async with RunningRendezvous(tmp_path / "rendezvous") as rendezvous:
        registered = await rendezvous.as_("ci").register("build-1", executor_keys().public, "")
        executor = await relay_socket(registered)

        async def play() -> None:
            frames: list[bytes] = []
            while len(frames) < 2:  # a greeting, and the handshake
                frames += await executor.receive()
            executor.send(b"not a frame")
            executor.send(encode(Frame(decode(frames[1]).stream_id, Ack())))
            executor.send(encode(Frame(decode(frames[1]).stream_id, reply)))

        async def connect() -> None:
            with pytest.raises(CannotConnect, match=why):
                await ExecServerClient(relay_url(rendezvous.url), as_harness()).__aenter__()

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(play(), connect())
        with pytest.raises(ConnectionError, match="refused the connection"):
            await relay_route.open_socket(f"ws://127.0.0.1:{rendezvous.port}/relay/harness/unknown")
        await executor.aclose()
