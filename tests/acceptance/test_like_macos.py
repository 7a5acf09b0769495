"""On a system without the features that only Linux has, each command works or refuses in a sentence."""

import json
import subprocess
import sys
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


@pytest.mark.parametrize("listen", ["stdio", "ws://127.0.0.1:0"])
def test_the_exec_server_refuses_in_a_sentence(tmp_path: Path, listen: str) -> None:
    ended = run(tmp_path, "exec-server", "--listen", listen)
    assert (ended.returncode, ended.stdout) == (2, b"")
    said = ended.stderr.decode()
    assert said.startswith("codex-mcp exec-server: cannot run an exec-server here: this system lacks pidfd_open, ")
    assert len(said.splitlines()) == 1


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
