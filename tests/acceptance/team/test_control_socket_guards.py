"""Nobody but the user of a server gets in at its control socket, and no command of an agent does."""

import asyncio
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.test_agents_at_the_door import NETWORK, WAYS, fifo
from tests.acceptance.test_agents_at_the_door import running as running_command
from tests.support.servers.control_socket import socket_of
from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import TeamServer, say, team_server

ATTACK = """
import json, os, socket, sys
folder, name, result = sys.argv[1:4]
if len(sys.argv) > 4:
    open(sys.argv[4]).readline()  # until somebody opens the gate
try:
    os.chdir(folder)
    opened = socket.socket(socket.AF_UNIX)
    opened.settimeout(60)
    opened.connect(name)
    with opened.makefile("rwb") as both:
        hello = {"protocol": 1, "program": "attack", "version": "1", "person": "me"}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "control/hello", "params": hello}
        both.write(json.dumps(asked).encode() + b"\\n")
        both.flush()
        said = both.readline().decode().strip()
except OSError as exc:
    said = type(exc).__name__
print(said)
if result != "-":
    with open(result, "w") as file:
        file.write(said + "\\n")
"""

OWN = "was started by an agent of this server"

NO_NETWORK: Json = {"sandbox": "workspace-write"}
EVERYTHING: Json = {"sandbox": "danger-full-access"}


def attack(server: TeamServer, path: Path, result: Path) -> list[str]:
    script = server.setup.work / "attack.py"
    script.write_text(ATTACK)
    return [sys.executable, str(script), str(path.parent), path.name, str(result)]


async def said_to_an_agent(server: TeamServer, path: Path, way: str, how: Json) -> str:
    """What the attack was told, as a command of an agent."""
    result = server.setup.work / "result"
    os.mkfifo(result)
    # In the sandbox everything ends with its command, so the command waits for what it started.
    text = f"{way.format(shlex.join(attack(server, path, result)))} & cat {result}"
    answer = await server.start_with({**running_command(text), **how})
    result.unlink()
    await server.close_agent(answer["codex_id"])
    content: str = answer["content"]
    return content


@pytest.mark.parametrize("how", [NETWORK, EVERYTHING])
async def test_a_command_of_an_agent_is_refused_however_it_detaches(tmp_path: Path, how: Json) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        for way in WAYS:
            assert OWN in await said_to_an_agent(server, path, way, how), way
        # The same attack from outside shows that it would have worked.
        done = await asyncio.create_subprocess_exec(*attack(server, path, tmp_path / "plain"))
        assert await done.wait() == 0
        assert '"node"' in (tmp_path / "plain").read_text()
        (refused,) = [entry for entry in server.audit() if entry["event"] == "connection"][:1]
        assert (refused["outcome"], OWN in refused["error"]) == ("refused", True)


async def test_a_sandbox_without_network_cannot_even_connect(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        for way in WAYS:
            assert "PermissionError" in await said_to_an_agent(server, path, way, NO_NETWORK), way


async def test_what_an_agent_left_behind_is_refused(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        with fifo(server.setup.work / "gate") as gate:
            words = [*attack(server, path, tmp_path / "left"), str(server.setup.work / "gate")]
            text = f"nohup setsid env -i {shlex.join(words)} > /dev/null 2>&1 &"
            await server.start_with({**running_command(text), **EVERYTHING})
            os.write(gate, b"go\n")
            left = tmp_path / "left"
            await server.until(lambda: left.exists() and OWN in left.read_text())


async def test_another_user_is_refused(tmp_path: Path) -> None:
    """Even if the folder and the socket let it in, as after a mistaken chmod."""
    another = 65534 if os.geteuid() == 0 else os.geteuid()
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"))
        path = await socket_of(server)
        path.parent.chmod(0o711)
        path.chmod(0o666)
        folder = os.open(path.parent, os.O_PATH)
        words = ["/usr/bin/python3", "-c", ATTACK, f"/proc/self/fd/{folder}", path.name, "-"]
        who: Json = {"user": another} if os.geteuid() == 0 else {}
        running = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE, pass_fds=[folder], **who)
        said = (await running.communicate())[0].decode()
        os.close(folder)
        refused = f"you are user {another}" in said
        assert refused is (another != os.geteuid()), said
