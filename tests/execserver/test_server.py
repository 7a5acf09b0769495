import json

import pytest

from codex_mcp.execserver import server as module
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.execserver.server import Server
from codex_mcp.wire.exec.protocol import EnvironmentInfo, Shell
from tests.support.exec.parts import ENV, RecordingTransport, elapsed


def a_server() -> Server:
    return Server(EnvironmentInfo(Shell("sh", "/bin/sh")), {}, Confinement([]), 1)


def greeting(resume: str | None = None) -> bytes:
    params = {"clientName": "test", "resumeSessionId": resume}
    return json.dumps({"id": 1, "method": "initialize", "params": params}).encode()


async def test_a_session_that_nobody_came_back_for_is_ended_with_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETAIN_DETACHED", 0.05)
    server, client = a_server(), RecordingTransport()
    first = server.accept(client)
    first.frame_received(greeting())
    first.frame_received(b'{"method": "initialized"}')
    params = {"processId": "p", "argv": ["sleep", "100"], "cwd": "file:///", "env": ENV, "tty": False}
    first.frame_received(json.dumps({"id": 2, "method": "process/start", "params": params}).encode())
    result = (await client.answer(1))["result"]
    assert isinstance(result, dict)
    first.connection_lost()
    await elapsed(module.RETAIN_DETACHED)
    assert not len(server.sessions)
    late = RecordingTransport()
    server.accept(late).frame_received(greeting(str(result["sessionId"])))
    error = (await late.answer(1))["error"]
    assert isinstance(error, dict)
    assert error["message"].startswith("unknown session id")
    await server.aclose()


async def test_only_so_many_connections_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 2)
    server = a_server()
    server.accept(RecordingTransport())
    assert not server.is_full()
    second = server.accept(RecordingTransport())
    assert server.is_full()
    second.connection_lost()
    assert not server.is_full()
    await server.aclose()


async def test_closing_drops_the_clients_and_may_be_done_twice() -> None:
    server, client = a_server(), RecordingTransport()
    server.accept(client)
    await server.aclose()
    assert client.is_dropped
    await server.aclose()
