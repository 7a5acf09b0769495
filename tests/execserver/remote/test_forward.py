"""`exec-server forward`: a harness works on an exec-server that another program runs, through a rendezvous."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import CannotConnect, SessionLost
from codex_mcp.execclient.options import StartOptions
from codex_mcp.execclient.relay_route import RelayAddress
from tests.execclient.test_relay_route import answer, output
from tests.support.exec.exec_server import RunningServer, codex_exec_server, own_exec_server
from tests.support.patience import PATIENCE
from tests.support.rendezvous import ONLINE, TOKENS, RunningExecutor, RunningRendezvous, TcpProxy, as_harness, relay_url

COMMAND = [sys.executable, "-m", "codex_mcp", "exec-server", "forward"]

RESET = "cannot reach the exec-server ws://"
"""In the forwarder's log."""


@contextlib.asynccontextmanager
async def forwarding(folder: Path, url: str, *flags: str) -> AsyncIterator[tuple[RunningRendezvous, RunningExecutor]]:
    """A rendezvous, and a forwarder to the exec-server at this address."""
    async with (
        RunningRendezvous(folder / "rendezvous") as rendezvous,
        RunningExecutor(rendezvous.url, folder / "forwarder", [*COMMAND, "--connect", url, *flags]) as forwarder,
    ):
        await rendezvous.said(ONLINE)
        yield rendezvous, forwarder


def listening(port: int) -> str:
    """The address of an exec-server behind this port."""
    return f"ws://127.0.0.1:{port}"


@pytest.mark.parametrize("argv", [own_exec_server(), codex_exec_server()], ids=["ours", "codex"])
async def test_a_harness_works_on_the_exec_server_behind_it(tmp_path: Path, argv: Sequence[str]) -> None:
    async with (
        RunningServer(argv, tmp_path / "there") as server,
        forwarding(tmp_path, server.url) as (rendezvous, _),
        ExecServerClient(relay_url(rendezvous.url), as_harness()) as client,
    ):
        process = await client.start(["sh", "-c", "pwd; echo wrong >&2; exit 7"])
        assert sorted((await output(process)).splitlines()) == sorted([bytes(tmp_path / "there"), b"wrong"])
        assert await process.wait() == 7
        terminal = await client.start(["sh", "-c", "read x; echo [$x]"], StartOptions(tty=True))
        await terminal.write(b"typed\n")
        assert b"[typed]" in await output(terminal)
        large = bytes(5_000_000)
        await client.files.write_file(str(tmp_path / "file"), large)
        assert await client.files.read_file(str(tmp_path / "file")) == large


@pytest.mark.parametrize("argv", [own_exec_server(), codex_exec_server()], ids=["ours", "codex"])
async def test_a_cut_on_either_side_is_not_noticed(tmp_path: Path, argv: Sequence[str]) -> None:
    async with (
        RunningServer(argv, tmp_path / "there") as server,
        TcpProxy(server.port) as behind,
        forwarding(tmp_path, behind.url.replace("http", "ws")) as (rendezvous, _),
        TcpProxy(rendezvous.port) as before,
        ExecServerClient(relay_url(before.url), as_harness()) as client,
    ):
        talking = await client.start(["sh", "-c", "while read x; do echo got $x; done"], StartOptions(pipe_stdin=True))
        await answer(talking, "before")
        behind.cut()
        await answer(talking, "after a cut behind the forwarder")
        before.cut()
        await answer(talking, "after a cut before it")


async def test_the_death_of_the_exec_server_is_told_and_another_one_is_used(tmp_path: Path) -> None:
    async with (
        RunningServer(own_exec_server(), tmp_path / "first") as first,
        RunningServer(own_exec_server(), tmp_path / "second") as second,
        TcpProxy(first.port) as behind,
        forwarding(tmp_path, behind.url.replace("http", "ws")) as (rendezvous, _),
        ExecServerClient(relay_url(rendezvous.url), as_harness()) as client,
    ):
        process = await client.start(["cat"], StartOptions(pipe_stdin=True))
        behind.target = second.port
        os.killpg(first.process.pid, signal.SIGKILL)
        with pytest.raises(SessionLost, match="unknown session id"):
            await process.wait()
        async with ExecServerClient(relay_url(rendezvous.url), as_harness()) as another:
            assert await output(await another.start(["pwd"])) == bytes(tmp_path / "second") + b"\n"


async def test_an_exec_server_that_is_not_there_is_told_on_both_sides(tmp_path: Path) -> None:
    async with forwarding(tmp_path, listening(1)) as (rendezvous, forwarder):
        with pytest.raises(CannotConnect):
            await ExecServerClient(relay_url(rendezvous.url), as_harness()).__aenter__()
        await forwarder.said(f"{RESET}127.0.0.1:1: ")
        assert [each.streams for each in await rendezvous.as_("alice").environments()] == [0]


async def test_the_token_of_the_exec_server_is_sent(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-token-for-the-exec-server\n")
    token.chmod(0o600)
    argv = [*own_exec_server(), "--ws-auth", "capability-token", "--ws-token-file", str(token)]
    async with RunningServer(argv, tmp_path / "there") as server:
        async with forwarding(tmp_path, server.url) as (rendezvous, forwarder):
            with pytest.raises(CannotConnect):
                await ExecServerClient(relay_url(rendezvous.url), as_harness()).__aenter__()
            await forwarder.said("401")
        with_token = forwarding(tmp_path, server.url, "--connect-token-file", str(token))
        async with with_token as (rendezvous, _), ExecServerClient(relay_url(rendezvous.url), as_harness()) as client:
            assert (await client.environment_status()).status == "ready"


@pytest.mark.parametrize("is_forwarded", [True, False])
async def test_a_harness_is_told_that_the_executor_stops(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_forwarded: bool
) -> None:
    caplog.set_level("INFO", "codex_mcp.execclient.relay_route")
    async with RunningServer(own_exec_server(), tmp_path / "there") as server:
        argv = [*COMMAND, "--connect", server.url] if is_forwarded else []
        async with (
            RunningRendezvous(tmp_path / "rendezvous") as rendezvous,
            RunningExecutor(rendezvous.url, tmp_path / "executor", argv) as executor,
        ):
            await rendezvous.said(ONLINE)
            channel = await RelayAddress(relay_url(rendezvous.url), TOKENS["alice"]).dial()
            executor.signal(signal.SIGTERM)
            assert await executor.exit_code() == 0
            assert await channel.receive() == []
            # By the executor, or by the rendezvous if the executor's last frame was lost.
            assert any(reason in caplog.text for reason in ("noise_relay_protocol_error", "peer_disconnected"))
            await channel.aclose()


async def test_it_ends_when_stdin_is_closed(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path / "rendezvous") as rendezvous:
        for argv in ([*COMMAND, "--connect", listening(1)], COMMAND[:-1]):
            argv = [*argv, "--remote", rendezvous.url, "--environment-id", "build-1", "--exit-on-stdin-close"]
            program = await asyncio.create_subprocess_exec(
                *argv, stdin=subprocess.PIPE, env={"PATH": "/usr/bin:/bin", "CODEX_API_KEY": TOKENS["ci"]}
            )
            async with asyncio.timeout(PATIENCE):
                await program.communicate(b"ignored\n")
            assert program.returncode == 0


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ([], "give --connect"),
        (["--connect", "ws://127.0.0.1:1"], "give --connect"),
        (["--connect", "http://127.0.0.1:1", "--remote", "http://127.0.0.1:1"], "ws://127.0.0.1:4512"),
        (["--connect", "ws://127.0.0.1:0", "--remote", "http://127.0.0.1:1"], "ws://127.0.0.1:4512"),
        (["--connect", "ws://127.0.0.1:1", "--remote", "http://127.0.0.1:1"], "--environment-id"),
        (["--connect", "ws://192.0.2.1:1", "--remote", "http://x", "--connect-token-file", __file__], "use wss://"),
        (["--connect", "ws://192.0.2.1:1", "--remote", "http://x", "--connect-token-file", "/missing"], "/missing"),
    ],
)
def test_flags_that_make_no_sense_are_told_in_one_sentence(flags: list[str], why: str) -> None:
    ended = subprocess.run([*COMMAND, *flags], capture_output=True, text=True, timeout=PATIENCE, env={})
    assert (ended.returncode, ended.stdout) == (2, "")
    assert why in ended.stderr.splitlines()[-1]


def test_connect_belongs_to_forward() -> None:
    argv = [*COMMAND[:-1], "--connect", "ws://127.0.0.1:1"]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "belongs to codex-mcp exec-server forward" in ended.stderr
