"""On a system without the features that only Linux has, each command works or refuses in a sentence."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tests.support.servers.like_macos import like_macos
from tests.support.servers.mcp_server import SOURCES

HELLO = Path(__file__).parents[1] / "support/scripts/hello.toml"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}},
}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "codex", "arguments": {"prompt": "hi"}}}


def run(folder: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "codex_mcp", *words],
        input=given,
        capture_output=True,
        env=like_macos(folder, SOURCES),
        cwd=folder,
        timeout=PATIENCE,
        check=False,
    )


def post(url: str, message: dict[str, Any]) -> bytes:
    """The answer to a message."""
    kinds = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(message).encode(), kinds)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=PATIENCE) as answer:
        body: bytes = answer.read()
    return body


@pytest.mark.parametrize("listen", ["stdio", "ws://127.0.0.1:0"])
def test_the_exec_server_refuses_in_a_sentence(tmp_path: Path, listen: str) -> None:
    ended = run(tmp_path, "exec-server", "--listen", listen)
    assert (ended.returncode, ended.stdout) == (2, b"")
    said = ended.stderr.decode()
    assert said.startswith("codex-mcp exec-server: cannot run an exec-server here: this system lacks pidfd_open, ")
    assert len(said.splitlines()) == 1


EVERY_MODULE = """
import importlib, pkgutil, codex_mcp

failed = {}
for module in pkgutil.walk_packages(codex_mcp.__path__, "codex_mcp."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as exc:
            failed[module.name] = repr(exc)
print(failed)
"""


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    """A module that needs Linux says so when it is used, not when something else imports it."""
    words = [sys.executable, "-c", EVERY_MODULE]
    ended = subprocess.run(words, capture_output=True, env=like_macos(tmp_path, SOURCES), timeout=PATIENCE)
    assert (ended.stdout, ended.stderr) == (b"{}\n", b"")


def test_a_service_is_refused_in_a_sentence(tmp_path: Path) -> None:
    ended = run(tmp_path, "install", "--service")
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"codex-mcp install: cannot manage a service on macOS: --service is for Linux")


@pytest.mark.parametrize("command", ["mcp-server", "serve"])
def test_a_server_over_http_answers_and_ends(tmp_path: Path, command: str) -> None:
    words = [sys.executable, "-m", "codex_mcp", command, "--port", "0", "--scripted", str(HELLO)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=like_macos(tmp_path, SOURCES), cwd=tmp_path) as server:
        try:
            assert server.stderr is not None
            address = next(line for line in iter(server.stderr.readline, b"") if b"serving MCP at" in line)
            assert b'"serverInfo"' in post(address.split()[-1].decode(), INITIALIZE)
        finally:
            server.terminate()
            server.wait(PATIENCE)
        assert server.returncode == 0


@pytest.mark.parametrize("command", ["mcp-server", "serve"])
def test_an_agent_works(tmp_path: Path, command: str) -> None:
    messages = b"".join(json.dumps(message).encode() + b"\n" for message in (INITIALIZE, CALL))
    ended = run(tmp_path, command, "--scripted", str(HELLO), given=messages)
    answers: list[dict[str, Any]] = [json.loads(line) for line in ended.stdout.splitlines()]
    (result,) = [answer["result"] for answer in answers if answer.get("id") == 1]
    assert result["structuredContent"]["content"] == "Hello from a script."
    assert ended.returncode == 0


def test_doctor_works(tmp_path: Path) -> None:
    ended = run(tmp_path, "doctor", "--turn", "--json")
    checks = {check["check"]: check["level"] for check in json.loads(ended.stdout)["checks"]}
    assert (checks["codex.handshake"], checks["turn"], checks["sign-in"]) == ("ok", "ok", "error")
    assert ended.returncode == 1
