"""Our executor and our client, which reach each other only through our rendezvous."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import CannotConnect, ExecServerError
from codex_mcp.execclient.relay_route import open_socket
from tests.acceptance.test_agent_on_exec_server import parent_of_a_command
from tests.execclient.test_relay_route import output, remote
from tests.support.exec.exec_server import own_exec_server
from tests.support.exec.small_web import own_certificate
from tests.support.patience import PATIENCE
from tests.support.rendezvous import (
    ONLINE,
    TOKENS,
    RunningExecutor,
    RunningRendezvous,
    as_harness,
    relay_url,
)
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import scripted_server


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


async def test_tls_protects_the_way_and_an_unknown_certificate_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "certificate.pem")
    own_certificate(Path(file))
    trusting = ["env", f"SSL_CERT_FILE={file}", *own_exec_server()[:-2]]
    async with (
        RunningRendezvous(tmp_path / "rendezvous", 0, "--tls-cert", file, "--tls-key", file) as rendezvous,
        RunningExecutor(rendezvous.url, tmp_path / "executor", trusting) as executor,
    ):
        await rendezvous.said(ONLINE)
        assert rendezvous.url.startswith("https://")
        with pytest.raises(CannotConnect, match="certificate that is not trusted here"):
            await ExecServerClient(relay_url(rendezvous.url), as_harness()).__aenter__()
        with pytest.raises(CannotConnect, match="CERTIFICATE_VERIFY_FAILED"):
            await open_socket(f"wss://127.0.0.1:{rendezvous.port}/relay/harness/any")
        monkeypatch.setenv("SSL_CERT_FILE", file)
        async with ExecServerClient(relay_url(rendezvous.url), as_harness()) as client:
            assert await output(await client.start(["pwd"])) == f"{executor.home}\n".encode()


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--remote", "http://relay.example.com", "--environment-id", "x", "--token-file", "token"), "use https"),
        (("--remote", "https://relay.example.com", "--token-file", "token"), "--environment-id"),
        (("--remote", "https://relay.example.com", "--environment-id", "x"), "without a token"),
        (
            ("--remote", "https://relay.example.com", "--environment-id", "x", "--token-file", "none"),
            "cannot read the token file",
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
