"""`install --http` with a real server that wants a token."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Door, request
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Setup

PROGRAM = str(Path(sys.executable).parent / "codex-mcp")


def server_of(folder: Path) -> ChildServer:
    return http_server(Setup(folder, flags=["--generate-token"]))


def install(server: ChildServer, *words: str, path: str = "/mcp", **variables: str) -> subprocess.CompletedProcess[str]:
    url = f"http://127.0.0.1:{server.port}{path}"
    return subprocess.run(
        [PROGRAM, "install", *words, "--http", url],
        capture_output=True,
        text=True,
        env=server.setup.env() | variables,
        cwd=server.setup.work,
        timeout=PATIENCE,
    )


def secret(server: ChildServer) -> str:
    return (server.setup.codex_home / "codex-mcp/token").read_text().strip()


def headers(server: ChildServer) -> dict[str, str]:
    """What Cursor will send."""
    entry = json.loads((server.setup.home / ".cursor/mcp.json").read_text())["mcpServers"]["codex"]
    sent: dict[str, str] = entry["headers"]
    return sent


async def test_the_example_of_the_service_page_connects(tmp_path: Path) -> None:
    async with server_of(tmp_path) as server:
        (server.setup.home / ".cursor").mkdir()  # Cursor is here
        ended = install(server, "cursor")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert secret(server) not in ended.stdout
        door = Door(server.port, "/", authorization=headers(server)["Authorization"])
        assert (await door.post(request(1, "ping")))["result"] == {}


async def test_a_token_comes_from_a_file_or_a_variable_and_is_tried(tmp_path: Path) -> None:
    async with server_of(tmp_path) as server:
        wrong, right = tmp_path / "wrong", tmp_path / "right"
        wrong.write_text("something-else\n")
        right.write_text(secret(server) + "\n")
        refused = install(server, "cursor", "--token-file", str(wrong))
        assert (refused.returncode, "does not accept the token in" in refused.stderr) == (2, True)
        assert not (server.setup.home / ".cursor").exists()
        assert install(server, "cursor", "--token-file", str(right)).returncode == 0
        assert headers(server) == {"Authorization": f"Bearer {secret(server)}"}
        assert install(server, "cursor", "--token-env", "SECRET", SECRET="no").returncode == 2
        assert install(server, "cursor", "--token-env", "SECRET", SECRET=secret(server)).returncode == 0
        assert headers(server) == {"Authorization": "Bearer ${env:SECRET}"}
        assert install(server, "codex", "--token-env", "SECRET", SECRET=secret(server)).returncode == 0
        codex = tomllib.loads((server.setup.codex_home / "config.toml").read_text())["mcp_servers"]["codex"]
        assert (codex["bearer_token_env_var"], "http_headers" in codex) == ("SECRET", False)


async def test_a_token_reaches_no_project_and_no_command_line(tmp_path: Path) -> None:
    async with server_of(tmp_path) as server:
        for words in (["cursor"], ["cursor", "--token-file", str(server.setup.codex_home / "codex-mcp/token")]):
            refused = install(server, *words, "--scope", "project")
            assert (refused.returncode, "everyone who works in this project would get it" in refused.stderr) == (
                2,
                True,
            )
        programs = tmp_path / "programs"
        programs.mkdir()
        (programs / "claude").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
        (programs / "claude").chmod(0o755)
        assert install(server, "claude", PATH=f"{programs}:/usr/bin:/bin").returncode == 0
        assert secret(server) in (server.setup.home / ".claude.json").read_text()
        assert not (tmp_path / "called").exists()


async def test_a_token_in_a_file_that_everyone_can_read_is_told(tmp_path: Path) -> None:
    async with server_of(tmp_path) as server:
        file = server.setup.home / ".cursor/mcp.json"
        file.parent.mkdir()
        file.write_text("{}")
        file.chmod(0o644)
        said = f"every user of this machine can read {file}, which has the token now; run chmod 600 on it"
        assert said not in install(server, "cursor", "--token-env", "SECRET", SECRET=secret(server)).stderr
        ended = install(server, "cursor")
        assert (ended.returncode, said in ended.stderr) == (0, True)
        file.chmod(0o600)
        assert install(server, "cursor").stderr == ""


async def test_the_token_of_a_server_that_is_not_ours_must_be_given(tmp_path: Path) -> None:
    async with server_of(tmp_path) as server:
        (server.setup.codex_home / "codex-mcp/token").write_text("another-token\n")
        refused = install(server, "cursor")
        assert (refused.returncode, "--token-file FILE or --token-env NAME" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("path", "said"), [("/nothing", "is no MCP server"), ("/mcp", "")])
async def test_an_address_that_is_no_mcp_server_is_told(tmp_path: Path, path: str, said: str) -> None:
    async with http_server(Setup(tmp_path)) as server:
        (server.setup.home / ".config/zed").mkdir(parents=True)  # Zed is here
        ended = install(server, "zed", path=path)
        assert (ended.returncode, said in ended.stderr, bool(ended.stderr)) == (0, True, bool(said))
