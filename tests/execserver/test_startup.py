import argparse
import asyncio
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.cli.exec import cmd_exec_server
from codex_mcp.execserver.serve import Address
from codex_mcp.execserver.startup import (
    ExecServerListenUrlParseError,
    ExecServerRuntimePaths,
    RemoteEnvironmentConfig,
    auth_check,
    run_main,
    run_remote_environment,
)
from tests.support.patience import PATIENCE
from tests.support.rendezvous import TOKENS, RunningRendezvous

LOCAL = Address("127.0.0.1")


def flags(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cmd_exec_server.configure(parser)
    return parser.parse_args(words)


def test_on_this_machine_nobody_is_asked() -> None:
    assert auth_check(flags(), LOCAL)(None) is None


def test_to_listen_to_others_without_asking_is_refused() -> None:
    with pytest.raises(Refused, match="other machines could run commands here"):
        auth_check(flags(), Address("0.0.0.0"))


def test_a_token_comes_from_a_file_or_as_a_hash(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" secret\n")
    digest = hashlib.sha256(b"secret").hexdigest().upper()
    for more in (["--ws-token-file", str(tmp_path / "token")], ["--ws-token-sha256", digest]):
        refusal = auth_check(flags("--ws-auth", "capability-token", *more), Address("0.0.0.0"))
        assert refusal("Bearer secret") is None
        assert refusal("Bearer other") == "invalid websocket bearer token"


def test_a_secret_must_be_long(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x" * 31)
    words = ["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", str(tmp_path / "secret")]
    with pytest.raises(Refused, match="at least 32 bytes"):
        auth_check(flags(*words), LOCAL)
    (tmp_path / "secret").write_text("x" * 32)
    assert auth_check(flags(*words), LOCAL)("Bearer a.b.c") == "invalid websocket jwt"


@pytest.mark.parametrize(
    "words",
    [
        ["--ws-auth", "capability-token"],
        ["--ws-auth", "capability-token", "--ws-token-file", "/nonexistent"],
        ["--ws-auth", "capability-token", "--ws-token-sha256", "xyz"],
        ["--ws-auth", "capability-token", "--ws-token-file", "a", "--ws-token-sha256", "b"],
        ["--ws-auth", "capability-token", "--ws-token-file", "/dev/null"],
        ["--ws-auth", "signed-bearer-token"],
        ["--ws-auth", "signed-bearer-token", "--ws-token-file", "a"],
        ["--ws-token-sha256", "0" * 64],
        ["--ws-issuer", "me"],
    ],
)
def test_flags_that_do_not_fit_are_refused(words: list[str]) -> None:
    with pytest.raises(Refused, match="cannot"):
        auth_check(flags(*words), LOCAL)


def test_stdio_has_no_door_to_guard(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    words = ["--ws-auth", "capability-token", "--ws-token-file", str(tmp_path / "token")]
    with pytest.raises(Refused, match="stdio"):
        auth_check(flags(*words), Address(None))


@pytest.mark.parametrize(("mode", "warnings"), [(0o644, 1), (0o600, 0)])
def test_a_token_file_that_everybody_can_read_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warnings: int
) -> None:
    path = tmp_path / "token"
    path.write_text("secret")
    path.chmod(mode)
    auth_check(flags("--ws-auth", "capability-token", "--ws-token-file", str(path)), LOCAL)
    assert caplog.text.count(f"can read {path}; run chmod 600 on it") == warnings


def test_clocks_cannot_differ_by_less_than_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x" * 32)
    words = ["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", str(tmp_path / "secret")]
    with pytest.raises(Refused, match="it must be 0 or more"):
        auth_check(flags(*words, "--ws-max-clock-skew-seconds", "-1"), LOCAL)
    auth_check(flags(*words, "--ws-max-clock-skew-seconds", "0"), LOCAL)


PROGRAM = """
import asyncio, io, os, signal
from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execserver.startup import DEFAULT_LISTEN_URL, ExecServerRuntimePaths, run_main
from codex_mcp.wire.exec.protocol import ProcessOutput

async def main():
    tasks = TaskSet()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as stdout:
        serving = tasks.spawn(run_main(DEFAULT_LISTEN_URL, ExecServerRuntimePaths(), stdout=stdout), name="server")
        address = await asyncio.to_thread(os.read, reading, 100)
        print(address.decode().strip().rpartition(":")[0])
        async with ExecServerClient(address.decode().strip()) as client:
            process = await client.start(["sh", "-c", "echo hello"])
            said = [event.chunk async for event in process.events() if isinstance(event, ProcessOutput)]
            print(b"".join(said).decode().strip())
        print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        serving.cancel()
        await asyncio.wait([serving])
    print(serving.cancelled(), len(asyncio.all_tasks()))

asyncio.run(main())
"""


REMOTE_PROGRAM = """
import asyncio, sys
from codex_mcp.base.errors import Refused
from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.execserver.startup import ExecServerRuntimePaths, RemoteEnvironmentConfig, run_remote_environment

async def main(url, harness_token, executor_token):
    tasks, lines, connected = TaskSet(), [], asyncio.Event()

    def report(line):
        lines.append(line.split()[0])
        if line.startswith("connected"):
            connected.set()

    try:
        await run_remote_environment(RemoteEnvironmentConfig(url, "build-1", "wrong"), ExecServerRuntimePaths())
    except Refused as exc:
        print("refused" if "cannot register 'build-1'" in str(exc) else exc)
    headers = lambda: {"Authorization": "Bearer " + executor_token}
    config = RemoteEnvironmentConfig(url, "build-1", headers, name="mine", report=report)
    serving = tasks.spawn(run_remote_environment(config, ExecServerRuntimePaths()), name="server")
    await connected.wait()
    options = ExecServerClientConnectOptions(bearer_token=harness_token)
    async with ExecServerClient("relay+" + url + "/build-1", options) as client:
        done = await (await client.start(["sh", "-c", "echo hello"])).collect()
        print(done.stdout.decode().strip())
    serving.cancel()
    await asyncio.wait([serving])
    print(*lines, serving.cancelled())

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_program_embeds_an_executor_behind_a_rendezvous(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        words = [sys.executable, "-c", REMOTE_PROGRAM, rendezvous.url, TOKENS["alice"], TOKENS["ci"]]
        ended = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, timeout=PATIENCE)
    assert "Traceback" not in ended.stderr
    assert ended.stdout.splitlines() == ["refused", "hello", "fingerprint registered connected True"]


async def test_an_executor_without_a_name_is_refused() -> None:
    with pytest.raises(Refused, match="give an environment_id"):
        await run_remote_environment(RemoteEnvironmentConfig("http://127.0.0.1:1", "", "t"), ExecServerRuntimePaths())


@pytest.mark.parametrize(
    "url", ["", "ws://localhost:1", "http://127.0.0.1:0", "ws://127.0.0.1", "ws://127.0.0.1:99999"]
)
async def test_an_address_that_cannot_be_read_has_an_error_of_its_own(url: str) -> None:
    with pytest.raises(ExecServerListenUrlParseError, match="the address must be ws://IP:PORT"):
        await run_main(url, ExecServerRuntimePaths())


@pytest.mark.parametrize("url", ["stdio", "ws://0.0.0.0:0", "ws://localhost:1", "http://127.0.0.1:0"])
def test_what_cannot_be_embedded_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="cannot"):
        asyncio.run(run_main(url, ExecServerRuntimePaths()))


def test_a_program_serves_until_it_cancels_the_task() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == ["ws://127.0.0.1", "hello", "True", "True 1"]
