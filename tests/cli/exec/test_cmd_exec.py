"""`codex-mcp exec` as a shell meets it: streams, exit codes, and what it says when it cannot."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from codex_mcp.cli.exec.cmd_exec import CANNOT_RUN, NOT_RUN, URL_VARIABLE
from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.patience import PATIENCE

USAGE_ERROR = 2


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    stdout: bytes
    stderr: bytes


async def started(*words: str, env: Mapping[str, str] | None = None) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "codex_mcp",
        "exec",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **(env or {})},
    )


async def exec_(*words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Ended:
    process = await started(*words, env=env)
    async with asyncio.timeout(PATIENCE):
        stdout, stderr = await process.communicate(stdin)
    assert process.returncode is not None
    return Ended(process.returncode, stdout, stderr)


async def test_both_streams_and_the_exit_code_are_passed_on(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with running_exec_server(tmp_path) as server:
            ended = await exec_("--url", server.url, "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    assert ended == Ended(5, b"out\n", b"err\n")


async def test_input_is_passed_on_to_its_end(tmp_path: Path) -> None:
    data = bytes(range(256)) * 1000
    with served_by(own_exec_server()):
        async with running_exec_server(tmp_path) as server:
            assert await exec_("cat", stdin=data, env={URL_VARIABLE: server.url}) == Ended(0, data, b"")


async def test_a_server_that_cannot_close_an_input_is_named(tmp_path: Path) -> None:
    async with running_exec_server(tmp_path) as server:
        ended = await exec_("--url", server.url, "--", "head", "-n", "1", stdin=b"one\ntwo\n")
    assert (ended.code, ended.stdout) == (0, b"one\n")
    assert ended.stderr in (
        b"",
        b"codex-mcp exec: the command will not see the end of its input: this exec-server cannot close it\r\n",
    )


async def test_folder_and_variables_are_the_commands(tmp_path: Path) -> None:
    async with running_exec_server(tmp_path) as server:
        words = (
            "--url",
            server.url,
            "--cwd",
            "/",
            "--env",
            "A=b=c",
            "--env",
            "B=",
            "--",
            "sh",
            "-c",
            'echo "$PWD $A$B."',
        )
        assert (await exec_(*words)).stdout == b"/ b=c.\n"


async def test_a_command_that_is_not_there_ends_as_in_a_shell(tmp_path: Path) -> None:
    async with running_exec_server(tmp_path) as server:
        ended = await exec_("--url", server.url, "--", "no-such-program")
    assert ended.code == CANNOT_RUN
    assert b"cannot start 'no-such-program': No such file" in ended.stderr


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with running_exec_server(tmp_path) as server:
        ended = await exec_("--url", server.url, "--cwd", "/no/such/folder", "--", "true")
    assert ended.code == CANNOT_RUN
    assert b"cannot start 'true' in '/no/such/folder': No such file" in ended.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["true"], USAGE_ERROR, b"use --url"),
        (["--url", "ws://127.0.0.1:1", "true"], NOT_RUN, b"cannot connect"),
        (["--url", "http://127.0.0.1:1", "true"], NOT_RUN, b"looks like ws://"),
        (["--url", "ws://127.0.0.1:99999", "true"], NOT_RUN, b"looks like ws://"),
        (["--url", "ws://127.0.0.1:1", "--env", "A", "true"], USAGE_ERROR, b"NAME=VALUE"),
        (["--url", "ws://127.0.0.1:1", "--env", "A=\udcff", "true"], USAGE_ERROR, b"'A=\\udcff': it is not UTF-8"),
        (["--url", "ws://127.0.0.1:1", "--", "echo", "\udcff"], USAGE_ERROR, b"'\\udcff': it is not UTF-8"),
        (["--url", "ws://127.0.0.1:1", "--token-file", "/no/such/file", "true"], USAGE_ERROR, b"token file"),
    ],
)
async def test_what_cannot_be_done_is_said_in_a_sentence(words: list[str], code: int, says: bytes) -> None:
    ended = await exec_(*words)
    assert (ended.code, ended.stdout) == (code, b"")
    assert says in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 9), (signal.SIGTERM, 128 + signal.SIGTERM)])
async def test_signals_reach_the_command(tmp_path: Path, number: signal.Signals, code: int) -> None:
    script = "trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done"
    async with running_exec_server(tmp_path) as server:
        process = await started("--url", server.url, "--", "sh", "-c", script)
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            assert await process.stdout.readline() == b"ready\n"
            process.send_signal(number)
            await process.communicate()
    assert process.returncode == code


async def test_a_second_interrupt_does_not_ask(tmp_path: Path) -> None:
    script = "trap 'echo no' INT; echo ready; while :; do sleep 0.05; done"
    async with running_exec_server(tmp_path) as server:
        process = await started("--url", server.url, "--", "sh", "-c", script)
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            assert await process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGINT)
            assert await process.stdout.readline() == b"no\n"
            process.send_signal(signal.SIGINT)
            await process.communicate()
    assert process.returncode == 128 + signal.SIGINT


async def test_a_reader_that_has_seen_enough_ends_the_command(tmp_path: Path) -> None:
    async with running_exec_server(tmp_path) as server:
        ours = f"{sys.executable} -m codex_mcp exec --url {server.url} -- yes"
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", f"{ours} </dev/null | head -n 1; echo ${{PIPESTATUS[0]}}", stdout=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(PATIENCE):
            stdout, _ = await process.communicate()
    assert stdout == f"y\n{128 + signal.SIGPIPE}\n".encode()


async def test_a_full_disk_ends_the_command_and_is_told(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with running_exec_server(tmp_path) as server:
            ours = f"{sys.executable} -m codex_mcp exec --url {server.url} -- yes"
            process = await asyncio.create_subprocess_exec(
                "bash", "-c", f"{ours} </dev/null >/dev/full", stderr=asyncio.subprocess.PIPE
            )
            async with asyncio.timeout(PATIENCE):
                _, stderr = await process.communicate()
    assert process.returncode == NOT_RUN
    assert stderr == b"codex-mcp exec: cannot write the command's output: No space left on device; ended the command\n"


async def test_a_signal_that_we_were_told_to_ignore_ends_nothing(tmp_path: Path) -> None:
    with served_by(own_exec_server()):
        async with running_exec_server(tmp_path) as server:
            ours = f"{sys.executable} -m codex_mcp exec --url {server.url} -- sh -c 'echo ready; read -r x; echo $x'"
            process = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                f"trap '' HUP INT; exec {ours}",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            assert process.stdout is not None
            async with asyncio.timeout(PATIENCE):
                assert await process.stdout.readline() == b"ready\n"
                for number in (signal.SIGHUP, signal.SIGINT, signal.SIGINT):
                    process.send_signal(number)
                stdout, _ = await process.communicate(b"still here\n")
    assert (process.returncode, stdout) == (0, b"still here\n")


async def test_a_token_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff")
    ended = await exec_("--url", "ws://127.0.0.1:1", "--token-file", str(tmp_path / "token"), "true")
    assert ended.code == USAGE_ERROR
    assert ended.stderr.endswith(b"/token: it is not UTF-8\n")
