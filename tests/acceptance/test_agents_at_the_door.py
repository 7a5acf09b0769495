"""A command of an agent, even with network access and a valid token, gets nothing from the server that runs it."""

import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import Json
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR, Setup

ATTACK = '''
"""Tries every endpoint, and writes the status of each answer into a file: ATTACK PORT TOKEN OUTSIDE RESULT [GATE]"""
import json, os, socket, sys
port, token, outside, result = int(sys.argv[1]), *sys.argv[2:5]
if len(sys.argv) > 5:
    open(sys.argv[5]).readline()  # until somebody opens the gate
FULL = {"type": "dangerFullAccess", "mode": "danger-full-access"}
CALLS = [
    {"method": "execOneOffCommand", "params": {"command": ["touch", outside], "sandboxPolicy": FULL}},
    {"method": "tools/call", "params": {"name": "codex", "arguments": {
        "prompt": "[[scene: run cmd=\\"touch " + outside + "\\"]]", "sandbox": "danger-full-access"}}},
    {"method": "tools/call", "params": {"name": "codex_approvals", "arguments": {}}},
    {"method": "tools/list"},
]

def ask(method, path, body=b"", *headers):
    with socket.create_connection(("127.0.0.1", port), 60) as opened:
        head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}", *headers]
        head += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
        head += ["Mcp-Session-Id: attack", "Connection: close" if not headers else "X-A: 1"]
        opened.sendall("\\r\\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        return (opened.recv(65536).split(b" ") + [b"", b"closed"])[1].decode()

said = []
for path in ("/mcp", "/"):
    for call in CALLS:
        said.append(ask("POST", path, json.dumps({"jsonrpc": "2.0", "id": 1, **call}).encode()))
said.append(ask("GET", "/"))
said.append(ask("GET", "/metrics"))
for path in ("/ws", "/"):
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    said.append(ask("GET", path, b"", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", key))
with open(result, "w") as file:
    file.write(" ".join(said) + "\\n")
'''

NETWORK: Json = {"sandbox": "workspace-write", "config": {"sandbox_workspace_write": {"network_access": True}}}

WAYS = (
    "{}",
    "setsid {}",
    "env -i {}",
    "python3 -c 'import os, sys; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); "
    "os.execvpe(sys.argv[1], sys.argv[1:], dict())' {}",
    "nohup {} > /dev/null 2>&1",
)


def ours(setup: Setup, port: int, token: str) -> list[str]:
    """The attack as a command line, without its result and gate."""
    script = setup.work / "attack.py"
    script.write_text(ATTACK)
    return [sys.executable, str(script), str(port), token, str(setup.home / "outside")]


@contextlib.contextmanager
def fifo(path: Path) -> Iterator[int]:
    """A FIFO, opened for both ways, so that nobody waits for the other side to open it."""
    os.mkfifo(path)
    opened = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield opened
    finally:
        os.close(opened)


async def read_line(opened: int) -> set[str]:
    """The words of the line that an attack writes into a FIFO."""
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(opened, came.set)
    try:
        async with asyncio.timeout(PATIENCE):
            await came.wait()
    finally:
        loop.remove_reader(opened)
    return set(os.read(opened, 65536).decode().split())


@pytest.mark.parametrize(("command", "flags"), [("mcp-server", []), ("serve", ["--generate-token"])])
async def test_no_endpoint_serves_what_an_agent_started(tmp_path: Path, command: str, flags: list[str]) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        network = "sandbox_workspace_write.network_access=true"
        setup = Setup(tmp_path, [*model.codex_overrides(), network], flags, command=command)
        async with http_server(setup) as server:
            assert "agents have network access" in server.log
            token = (setup.codex_home / "codex-mcp/token").read_text().strip() if flags else "none"
            attack = ours(setup, server.port, token)
            for number, way in enumerate(WAYS):
                # In the sandbox everything ends with its command, so the command waits for what it started.
                result = setup.work / f"result{number}"
                os.mkfifo(result)
                text = f"{way.format(shlex.join([*attack, str(result)]))} & cat {result}"
                answer = await ask(server.port, token, running(text) | NETWORK)
                assert "403 403" in str(answer), (way, answer)
                assert set(statuses(answer)) == {"403"}, (way, answer)
            assert not (setup.home / "outside").exists()
            assert "was started by an agent of this server" in server.log
            if command == "serve":
                audit = (setup.home / ".config/atm/codex-sessions/audit.jsonl").read_text()
                assert "was started by an agent of this server" in audit
            await attack_after_the_turn(setup, server.port, token)
            # The same attack from outside shows that it would have worked.
            done = await asyncio.create_subprocess_exec(*attack, str(setup.folder / "plain"))
            assert await done.wait() == 0
            assert "200" in (setup.folder / "plain").read_text()
            assert (setup.home / "outside").exists()


RESET = '''
"""Sends requests, and resets each connection at once: RESET PORT TOKEN OUTSIDE"""
import json, socket, struct, sys
port, token, outside = int(sys.argv[1]), *sys.argv[2:4]
FULL = {"type": "dangerFullAccess", "mode": "danger-full-access"}
ask = {"method": "execOneOffCommand", "params": {"command": ["touch", outside], "sandboxPolicy": FULL}}
for path in ("/", "/mcp") * 20:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **ask}).encode()
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}", "Mcp-Session-Id: attack"]
    head += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    with socket.create_connection(("127.0.0.1", port), 60) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        opened.sendall("\\r\\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body)
print("sent")
'''


async def test_a_request_whose_connection_is_reset_at_once_is_not_served(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        network = "sandbox_workspace_write.network_access=true"
        setup = Setup(tmp_path, [*model.codex_overrides(), network])
        async with http_server(setup) as server:
            script, outside = setup.work / "reset.py", setup.home / "outside"
            script.write_text(RESET)
            words = [sys.executable, str(script), str(server.port), "none", str(outside)]
            answer = await ask(server.port, "none", running(shlex.join(words)) | NETWORK)
            assert "sent" in statuses(answer), answer
            await ask(server.port, "none", running("true") | NETWORK)  # after all of them
            assert "refused" in server.log
        assert not outside.exists()


async def attack_after_the_turn(setup: Setup, port: int, token: str) -> None:
    """A process that an agent left behind is refused as well."""
    with fifo(setup.work / "result") as result, fifo(setup.work / "gate") as gate:
        words = [*ours(setup, port, token), str(setup.work / "result"), str(setup.work / "gate")]
        text = f"nohup setsid env -i {shlex.join(words)} > /dev/null 2>&1 &"
        await ask(port, token, running(text) | {"sandbox": "danger-full-access"})
        os.write(gate, b"go\n")
        assert await read_line(result) == {"403"}


def running(text: str) -> Json:
    """The arguments of a call whose agent runs this."""
    return {"prompt": f"[[scene: run cmd={msgspec.json.encode(text).decode()}]]", "approval-policy": "never"}


def statuses(answer: Json) -> list[str]:
    content: str = answer["result"]["structuredContent"]["content"]
    return content.partition("Output:")[2].split()


async def ask(port: int, token: str, arguments: Json) -> Json:
    """Call `codex` over the bus, as a client outside."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "codex", "arguments": arguments}}
    body = msgspec.json.encode(call)
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nMcp-Session-Id: lead\r\n"
    head += f"Content-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    found: Json = msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])
    return found


async def test_an_exec_server_refuses_what_it_started(tmp_path: Path) -> None:
    """Without --ws-auth its port is open to this machine, but not to its own processes."""
    script = tmp_path / "attack.py"
    script.write_text(ATTACK)
    with served_by(own_exec_server()):
        async with (
            running_exec_server(tmp_path / "home") as server,
            ExecServerClient(server.url) as client,
        ):
            for number, way in enumerate(WAYS):
                path = tmp_path / f"result{number}"
                words = shlex.join([sys.executable, str(script), str(server.port), "none", "/nowhere", str(path)])
                with fifo(path) as result:
                    await client.start(["/bin/sh", "-c", f"{way.format(words)} & wait"])
                    assert "101" not in await read_line(result), way
