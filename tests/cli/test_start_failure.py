"""A server that does not start tells its client why."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli import start_failure
from codex_mcp.cli.start_failure import answer_to, log_failure, tell_client
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Setup

INITIALIZE = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}}
DISCOVER = {"jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": {"_meta": {}}}
LIST = {"jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": {"_meta": {}}}
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


@given(
    st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_whatever_comes_is_read_and_only_a_request_is_answered(frame: bytes) -> None:
    assert answer_to(frame, "why") == (None, False)


@given(st.integers() | st.text(), st.text())
def test_a_request_is_answered_under_its_id(request_id: int | str, method: str) -> None:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    answer, is_last = answer_to(json.dumps(message, ensure_ascii=False).encode(errors="replace"), "why")
    assert answer is not None
    assert json.loads(answer)["error"] == {"code": -32603, "message": "why"}
    assert is_last == (method != "server/discover")


def setup_for(folder: Path, words: Sequence[str]) -> Setup:
    setup = Setup(folder)
    setup.make()
    if "BROKEN" in words:
        (setup.codex_home / "config.toml").write_text("model = [")
    if "STATE" in words:
        (setup.home / "state").write_text("a file")
    return setup


FAILURES: dict[str, tuple[list[str], str]] = {
    "a bad setting": (["mcp-server", "--shutdown-grace", "soon"], "cannot use shutdown_grace = 'soon'"),
    "an unknown flag": (["serve", "--frobnicate"], "there is no flag --frobnicate"),
    "no Codex": (["mcp-server", "--codex-bin", "./gone"], "there is no such program"),
    "a broken config.toml": (["mcp-server", "BROKEN"], "config.toml: "),
    "an unusable state folder": (["serve", "--state-dir", "../home/state", "STATE"], "is not a folder"),
    "a missing script": (["mcp-server", "--scripted", "gone.toml"], "gone.toml"),
    "a misspelled command": (["mcp-serve"], "mcp-serve"),
    "no command": ([], "a command is missing"),
}


def argv(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "codex_mcp", *(word for word in words if word not in ("BROKEN", "STATE"))]


@pytest.mark.parametrize("failure", FAILURES)
def test_the_first_request_is_answered_with_the_reason(tmp_path: Path, failure: str) -> None:
    words, reason = FAILURES[failure]
    setup = setup_for(tmp_path, words)
    with subprocess.Popen(
        argv(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=setup.env(),
        cwd=setup.work,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(lines(NOTE, INITIALIZE))
        server.stdin.flush()
        answer: dict[str, Any] = json.loads(server.stdout.readline())
        assert server.wait(PATIENCE) == 2  # although its stdin is still open
        assert server.stdout.read() == b""
        said = server.stderr.read().decode()
    assert (answer["id"], answer["error"]["code"]) == (7, -32603)
    assert reason in answer["error"]["message"]
    assert answer["error"]["message"] in said
    assert answer["error"]["message"] in (setup.codex_home / "log/codex-rmcp.log").read_text()


def ended(setup: Setup, data: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv(words), input=data, capture_output=True, env=setup.env(), cwd=setup.work, timeout=PATIENCE, check=False
    )


def test_a_client_that_asks_for_the_era_first_is_told_twice(tmp_path: Path) -> None:
    setup = setup_for(tmp_path, [])
    told = ended(setup, lines(DISCOVER, INITIALIZE, LIST), "mcp-server", "--shutdown-grace", "soon")
    assert told.returncode == 2
    assert [json.loads(line)["id"] for line in told.stdout.splitlines()] == ["probe", 7]


def test_a_stateless_client_is_told_at_its_first_request(tmp_path: Path) -> None:
    told = ended(setup_for(tmp_path, []), lines(LIST), "serve", "--port", "none")
    assert (told.returncode, told.stdout) == (2, b"")  # a server with a port has no client on stdin
    told = ended(setup_for(tmp_path, []), lines(LIST), "serve", "--turns-per-hour", "none")
    assert json.loads(told.stdout)["id"] == 8


def test_a_client_with_content_lengths_is_answered_in_the_same_way(tmp_path: Path) -> None:
    body = json.dumps(INITIALIZE).encode()
    data = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    told = ended(setup_for(tmp_path, []), data, "mcp-server", "--codex-bin", "./gone")
    head, _, answer = told.stdout.partition(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(answer)
    assert json.loads(answer)["id"] == 7


@pytest.mark.parametrize("data", [b"", lines(NOTE), b"{ no message\n"])
def test_without_a_request_the_reason_is_on_stderr_alone(tmp_path: Path, data: bytes) -> None:
    setup = setup_for(tmp_path, [])
    told = ended(setup, data, "mcp-server", "--codex-bin", "./gone")
    assert (told.returncode, told.stdout) == (2, b"")
    assert told.stderr.startswith(f"codex-mcp mcp-server: cannot run {setup.work / 'gone'}: ".encode())


def test_the_log_is_in_the_home_that_a_flag_names_and_a_home_is_not_made_for_it(tmp_path: Path) -> None:
    setup = setup_for(tmp_path, [])
    (tmp_path / "other").mkdir()
    ended(setup, b"", "mcp-server", f"--codex-home={tmp_path}/other", "--codex-bin", "./gone")
    assert (
        "gone: there is no such program; correct codex_version" in (tmp_path / "other/log/codex-rmcp.log").read_text()
    )
    ended(setup, b"", "mcp-server", "--codex-home", f"{tmp_path}/missing")
    assert not (tmp_path / "missing").exists()
    assert not (setup.codex_home / "log").exists()


@contextlib.contextmanager
def pipes(data: bytes) -> Iterator[tuple[int, int, int]]:
    """A stdin with this data that stays open, and both ends of a stdout."""
    stdin, client = os.pipe()
    answers, stdout = os.pipe()
    os.write(client, data)
    try:
        yield stdin, answers, stdout
    finally:
        for descriptor in (stdin, client, answers, stdout):
            os.close(descriptor)


def test_it_returns_after_the_answer_although_stdin_stays_open() -> None:
    with pipes(lines(NOTE, DISCOVER, INITIALIZE, LIST)) as (stdin, answers, stdout):
        tell_client("why", stdin, stdout)
        assert [json.loads(line)["id"] for line in os.read(answers, 9999).splitlines()] == ["probe", 7]


def test_a_silent_client_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_failure, "PATIENCE", 0.01)
    with pipes(lines(NOTE)) as (stdin, _, stdout):
        tell_client("why", stdin, stdout)


def test_a_client_that_has_gone_is_no_error() -> None:
    stdin, client = os.pipe()
    answers, stdout = os.pipe()
    os.write(client, lines(INITIALIZE))
    os.close(answers)
    tell_client("why", stdin, stdout)
    for descriptor in (stdin, client, stdout):
        os.close(descriptor)


def test_a_terminal_is_not_read() -> None:
    master, terminal = pty.openpty()
    tell_client("why", terminal, terminal)
    os.close(master)
    os.close(terminal)


@pytest.mark.parametrize(
    "words", [["--codex-home", "x"], ["--codex-home=x"], ["--codex-home", "y", "--codex-home", "x"]]
)
def test_the_log_goes_to_the_home_that_was_named_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    log_failure("cannot start", words, {"HOME": str(tmp_path)})
    assert (tmp_path / "x/log/codex-rmcp.log").read_text().endswith("cannot start\n")


@pytest.mark.parametrize("variable", ["CODEX_HOME", "CODEX_MCP_CODEX_HOME"])
def test_the_log_goes_to_the_home_of_the_environment(tmp_path: Path, variable: str) -> None:
    log_failure("cannot start", [], {"HOME": "/nowhere", variable: str(tmp_path)})
    assert (tmp_path / "log/codex-rmcp.log").exists()
