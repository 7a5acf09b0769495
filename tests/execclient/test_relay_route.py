"""Our client and an executor, which reach each other only through a rendezvous."""

import asyncio
import contextlib
import functools
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from codex_mcp.execclient import relay_route
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import CannotConnect, ExecServerError, OutcomeUnknown
from codex_mcp.execclient.options import StartOptions
from codex_mcp.execclient.process import Process
from codex_mcp.relay.frames import Ack, Body, Frame, Handshake, Reset, decode, encode
from codex_mcp.relay.liveness import Liveness
from codex_mcp.wire.exec.protocol import ProcessOutput
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


@contextlib.asynccontextmanager
async def remote(folder: Path) -> AsyncIterator[Remote]:
    async with (
        RunningRendezvous(folder / "rendezvous", fixed_port()) as rendezvous,
        TcpProxy(rendezvous.port) as executors_wire,
        TcpProxy(rendezvous.port) as clients_wire,
        RunningExecutor(executors_wire.url, folder / "executor") as executor,
    ):
        await executor.said("connected to")
        async with ExecServerClient(relay_url(clients_wire.url), as_harness()) as client:
            yield Remote(rendezvous, executor, client, executors_wire, clients_wire)


async def output(process: Process) -> bytes:
    return b"".join([event.chunk async for event in process.events() if isinstance(event, ProcessOutput)])


async def answer(process: Process, line: str) -> None:
    """Say something, and wait for the echo."""
    await process.write(f"{line}\n".encode())
    async with asyncio.timeout(PATIENCE):
        heard = b""
        async for event in process.events():
            if isinstance(event, ProcessOutput):
                heard += event.chunk
                if heard.endswith(b"\n"):
                    break
    assert heard == f"got {line}\n".encode()


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
