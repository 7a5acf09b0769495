"""Our executor and our client, which reach each other only through our rendezvous."""

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
from codex_mcp.relay.liveness import Liveness
from codex_mcp.wire.exec.protocol import ProcessOutput
from tests.acceptance.test_agent_on_exec_server import parent_of_a_command
from tests.support.patience import PATIENCE
from tests.support.rendezvous import (
    ONLINE,
    TOKENS,
    HostileRendezvous,
    RunningExecutor,
    RunningRendezvous,
    TcpProxy,
    as_harness,
    relay_url,
)
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import scripted_server
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
        await there.client.files.write_file(str(written), bytes(3_000_000))
        assert written.stat().st_size == 3_000_000
        assert await there.client.files.read_file(str(written)) == bytes(3_000_000)
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


async def test_an_executor_whose_place_is_taken_stops_instead_of_fighting_for_it(tmp_path: Path) -> None:
    async with remote(tmp_path) as there:
        process = await there.talks()
        async with RunningExecutor(there.executors_wire.url, tmp_path / "second") as second:
            await second.said("connected to")
            async with asyncio.timeout(PATIENCE):
                assert await there.executor.exit_code() == 2
            assert "another executor is connected as 'build-1'" in there.executor.stderr
            with pytest.raises(ExecServerError):
                await output(process)
            async with ExecServerClient(relay_url(there.clients_wire.url), as_harness()) as client:
                done = await client.start(["pwd"])
                assert await output(done) == f"{second.home}\n".encode()
            assert second.stderr.count("connected to") == 1


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


async def test_the_command_exec_runs_there(tmp_path: Path) -> None:
    async with remote(tmp_path) as there:
        flags = ("exec", "--rendezvous", there.rendezvous.url, "--environment", "build-1", "--no-tty")
        token = {"CODEX_MCP_RENDEZVOUS_TOKEN": TOKENS["alice"]}
        done = await asyncio.to_thread(command, tmp_path, *flags, "--", "sh", "-c", "echo $HOME; exit 4", **token)
        assert (done.returncode, done.stdout) == (4, f"{there.executor.home}\n")
        refused = await asyncio.to_thread(command, tmp_path, *flags, "--pin", "sha256:0", "--", "true", **token)
        assert "is pinned" in refused.stderr
        unknown = await asyncio.to_thread(
            command, tmp_path, *flags[:3], "--environment", "build-2", "--", "true", **token
        )
        assert "no executor is connected" in unknown.stderr


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--remote", "http://relay.example.com", "--environment-id", "x", "--token-file", "token"), "use https"),
        (("--remote", "https://relay.example.com", "--token-file", "token"), "--environment-id"),
        (("--remote", "https://relay.example.com", "--environment-id", "x"), "without a token"),
        (
            ("--remote", "https://relay.example.com", "--environment-id", "x", "--token-file", "none"),
            "missing or empty",
        ),
    ],
)
def test_flags_that_cannot_work_are_refused(tmp_path: Path, flags: tuple[str, ...], why: str) -> None:
    (tmp_path / "token").write_text("token\n")
    done = command(tmp_path, "exec-server", *flags)
    assert done.returncode == 2
    assert why in done.stderr


async def test_a_token_that_may_not_register_ends_the_executor(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path / "rendezvous") as rendezvous:
        flags = ("exec-server", "--remote", rendezvous.url, "--environment-id", "build-1")
        done = await asyncio.to_thread(command, tmp_path, *flags, CODEX_API_KEY=TOKENS["alice"])
        assert done.returncode == 2
        assert "may not register 'build-1'" in done.stderr


async def test_an_agent_of_the_server_works_on_an_executor_behind_a_rendezvous(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path / "rendezvous") as rendezvous:
        token = tmp_path / "token"
        token.write_text(TOKENS["alice"])
        flags = ("--exec-server", relay_url(rendezvous.url), "--exec-server-token", str(token))
        async with (
            RunningExecutor(rendezvous.url, tmp_path / "executor"),
            scripted_server(tmp_path / "here", *flags) as (server, _model),
        ):
            await rendezvous.said(ONLINE)
            await server.initialize()
            assert "exec-server" in await parent_of_a_command(server)
            assert "app-server" in await parent_of_a_command(server, environment="local")


async def test_an_agent_of_the_server_works_only_on_the_pinned_executor(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path / "rendezvous") as rendezvous:
        token = tmp_path / "token"
        token.write_text(TOKENS["alice"])
        flags = ("--exec-server", relay_url(rendezvous.url), "--exec-server-token", str(token), "--exec-server-pin")
        async with RunningExecutor(rendezvous.url, tmp_path / "executor") as executor:
            await executor.said("connected to")
            pin = executor.stderr.partition("fingerprint ")[2].split()[0]
            async with scripted_server(tmp_path / "right", *flags, pin) as (server, _model):
                await server.initialize()
                assert "exec-server" in await parent_of_a_command(server)
            async with scripted_server(tmp_path / "wrong", *flags, "sha256:" + "0" * 64) as (server, _model):
                await server.initialize()
                refused = await server.run("codex", {"prompt": "[[scene: patch]]"})
                assert refused["isError"], refused
                await server.until(lambda: "is pinned" in server.stderr)


def test_a_pin_without_a_rendezvous_is_refused(tmp_path: Path) -> None:
    pin = ("--exec-server-pin", "sha256:" + "0" * 64)
    done = command(tmp_path, "serve", "--exec-server", "ws://127.0.0.1:1", *pin)
    assert done.returncode == 2
    assert "cannot use exec_server_pin" in done.stderr
