"""`codex-mcp mcp-server` from its command line to its exit code."""

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support.patience import PATIENCE
from tests.support.processes import the_core
from tests.support.servers.mcp_server import SOURCES, McpServer, Setup, scripted_server

HELLO = Path(__file__).parents[1] / "support/scripts/hello.toml"

LINE = re.compile(r"\S+Z (?P<level>\w+) +(?P<module>[\w.]+) (?P<rest>.*)")


async def test_a_script_is_played_without_an_account(tmp_path: Path) -> None:
    async with McpServer(Setup(tmp_path, flags=["--scripted", str(HELLO)])) as server:
        await server.initialize()
        result = await server.run("codex", {"prompt": "hi"})
        assert result["structuredContent"]["content"] == "Hello from a script."
        server.close_stdin()
        assert await server.exit_code() == 0


async def test_the_feature_flags_of_the_old_server_reach_codex(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--enable", "goals", "--disable", "skill_search") as (server, _model):
        await server.initialize()
        await server.run("codex", {"prompt": "hi"})
        assert {"features.goals=true", "features.skill_search=false"} <= set(the_core(server.setup.home).argv)


def run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    setup = Setup(folder, flags=flags)
    setup.make()
    return subprocess.run(
        setup.argv(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=setup.env(),
        cwd=setup.work,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--scripted", "gone.toml"], "gone.toml"),
        (["--codex-home", "gone"], "cannot use codex_home = "),
        (["-c", "nonsense"], "it must be key=value"),
    ],
)
def test_what_cannot_be_used_is_a_sentence_and_exit_code_2(tmp_path: Path, flags: list[str], sentence: str) -> None:
    ended = run(tmp_path, *flags)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("codex-mcp mcp-server: cannot ")
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_nothing_on_stdin_is_nothing_on_stdout(tmp_path: Path) -> None:
    ended = run(tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


async def test_every_line_of_a_call_says_whose_it_is(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        first = await server.run("codex", {"prompt": "one"})
        thread = first["structuredContent"]["threadId"]
        held = server.call("codex-reply", {"threadId": thread, "prompt": "[[scene: gate]]"}, request_id="held")
        await model.wait_for_gate("gate")
        queued = server.call("codex-reply", {"threadId": thread, "prompt": "two"}, request_id="queued")
        model.release("gate")
        await server.result(held)
        await server.result(queued)
        server.close_stdin()
        await server.exit_code()
        lines = [match["rest"] for match in map(LINE.match, server.log.splitlines()) if match]
        assert len(lines) == len(server.log.splitlines())
        about_core = [line for line in lines if line.startswith(("core ", "Codex warns"))]
        assert len({session_of(line) for line in lines if line not in about_core}) == 1
        for request in ("held", "queued"):
            its_lines = [line for line in lines if f" request={request} " in line]
            assert [first_word(line) for line in its_lines] == ["call", "turn", "turn", "call"]
            assert all(f" thread={thread} " in line for line in its_lines[1:])
        assert sum("request=" in line for line in lines) == 5 + 4 + 4


async def test_a_core_that_a_call_started_does_not_speak_for_that_call(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _model):
        # No initialize: it would have started the core.
        await server.run("codex", {"prompt": "hi"})
        server.close_stdin()
        await server.exit_code()
        about_core = [line for line in server.log.splitlines() if "codex_mcp.codex.supervisor" in line]
        assert len(about_core) == 2
        assert not any("request=" in line or "thread=" in line for line in about_core)


def first_word(line: str) -> str:
    return next(word for word in line.split() if "=" not in word)


def session_of(line: str) -> str:
    first = line.split()[0]
    assert first.startswith("session="), line
    return first


async def test_secrets_are_masked_in_the_log_file(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--log-level", "trace") as (server, _model):
        await server.initialize(name="Bearer abcdefghijklmnop0123456789")
        call = server.call("codex", {"prompt": "hi", "config": {"api_key": "sk-abcdefghijklmnop0123456789"}})
        await server.result(call)
        server.close_stdin()
        await server.exit_code()
        assert "abcdefghijklmnop0123456789" not in server.log
        assert "****" in server.log


async def test_stdout_carries_the_protocol_alone_however_much_is_logged(tmp_path: Path) -> None:
    async with scripted_server(tmp_path, "--log-level", "trace") as (server, _model):
        await server.initialize()
        server.write(b"no json\n")
        await server.run("codex", {"prompt": "[[scene: fail]]"})
        server.close_stdin()
        await server.exit_code()
        assert server.stderr
        for message in server.messages:
            assert message["jsonrpc"] == "2.0"
            assert msgspec.json.encode(message)


async def test_without_the_extra_no_traces_are_sent_and_the_server_says_so(tmp_path: Path) -> None:
    empty = tmp_path / "packages"
    (empty / "opentelemetry").mkdir(parents=True)
    (empty / "opentelemetry/__init__.py").touch()
    setup = Setup(
        tmp_path,
        environment={
            "PYTHONPATH": f"{empty}:{SOURCES}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        },
    )
    async with McpServer(setup) as server:
        await server.initialize()
        server.close_stdin()
        assert await server.exit_code() == 0
        assert (
            "cannot send traces: opentelemetry.context is not installed; run pip install 'codex-mcp[otel]'"
            in server.log
        )


def test_who_wants_no_traces_does_not_wait_for_their_modules() -> None:
    code = (
        "import sys, codex_mcp.cli.cmd_mcp_server, codex_mcp.mcp.http.serve; "
        "print(*(name for name in sys.modules if name.startswith('opentelemetry')))"
    )
    argv = [sys.executable, "-c", code]
    said = subprocess.run(argv, env={"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True, check=True).stdout
    assert said.strip() == ""


def test_stdio_waits_for_no_slow_module() -> None:
    ours = ("conversations", "wire.conversations", "mcp.features.service", "wire.features")
    slow = {"dataclasses", "tomllib", "uvloop", *(f"codex_mcp.{name}" for name in ours)}
    code = (
        "import argparse, sys; argparse.HelpFormatter('x'); before = set(sys.modules); "  # from 3.14 on, dataclasses
        "import codex_mcp.cli.cmd_mcp_server, codex_mcp.mcp.serve; "
        f"print(*({slow!r} & set(sys.modules) - before))"
    )
    argv = [sys.executable, "-c", code]
    said = subprocess.run(argv, env={"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True, check=True).stdout
    assert said.strip() == ""
