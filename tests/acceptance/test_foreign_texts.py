"""What registries and executors write reaches a terminal as plain text: it gives no orders and forges no line."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection, serve

from tests.support.servers.mcp_server import SOURCES

HOSTILE = "no\x1b]0;title\x07\x1b[2J\u202egnp.exe\u2066\r\nfingerprint sha256:0000\nERROR forged"


@contextmanager
def registry() -> Iterator[str]:
    """A registry that refuses everything, in its own words."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: a WebSocket client reads no further than the head

        def do_GET(self) -> None:
            body = json.dumps({"error": {"code": HOSTILE, "message": HOSTILE}}).encode()
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002  of the base class

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def executor() -> Iterator[str]:
    """An exec-server that refuses every request, in its own words."""

    def answer(connection: ServerConnection) -> None:
        for frame in connection:
            message = json.loads(frame)
            if "id" in message:
                error = {"code": -32600, "message": HOSTILE}
                connection.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))

    with serve(answer, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()


@contextmanager
def refusing_web_server() -> Iterator[str]:
    """Not an exec-server at all: it answers a handshake with a page of its own."""
    with registry() as url:
        yield url.replace("http", "ws", 1)


def said(tmp_path: Path, words: Sequence[str]) -> str:
    """What a command says on its streams."""
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o600)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-m", "codex_mcp", *words, "--token-file", str(token)]
    if words[0] == "exec":
        command += ["--", "true"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode != 0
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize(
    ("stranger", "words"),
    [
        (registry, ["environments", "--rendezvous"]),
        (registry, ["exec", "--environment", "box", "--rendezvous"]),
        (registry, ["exec-server", "--environment-id", "box", "--remote"]),
        (executor, ["exec", "--url"]),
        (refusing_web_server, ["exec", "--url"]),
    ],
)
def test_the_words_of_other_machines_are_one_printable_line(tmp_path: Path, stranger: object, words: list[str]) -> None:
    with stranger() as url:  # type: ignore[operator]
        text = said(tmp_path, [*words, url])
    assert "gnp.exe" in text, text
    lines = text.splitlines()
    assert all(line.isprintable() for line in lines), text
    assert not [line for line in lines if line.startswith(("fingerprint sha256:0000", "ERROR forged"))], text
