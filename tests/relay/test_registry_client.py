"""Asking a registry: addresses that are refused, and answers that cannot be used."""

import asyncio
import contextlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.relay.keys import public_key_object
from codex_mcp.relay.registry_client import RegistryClient, RegistryRefused
from tests.support.exec.small_web import own_certificate, small_web
from tests.support.relay import private_keys
from tests.support.servers.ports import fixed_port

KEYS = private_keys("any").public


@contextlib.contextmanager
def answering(status: int, body: bytes, *headers: tuple[str, str]) -> Iterator[str]:
    """A registry that has one answer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in (*headers, ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("url", ["http://relay.example.com", "ftp://127.0.0.1", "relay.example.com", "https://"])
def test_an_address_that_would_expose_the_token_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="cannot use"):
        RegistryClient(url, "token")


def test_an_address_may_end_with_a_slash() -> None:
    assert RegistryClient("https://relay.example.com/", None).url == "https://relay.example.com"
    assert RegistryClient("http://localhost:1/", None).url == "http://localhost:1"


async def test_a_registry_that_does_not_answer_is_an_os_error() -> None:
    with pytest.raises(OSError, match="does not answer"):
        await RegistryClient(f"http://127.0.0.1:{fixed_port()}", "token").connect("e", KEYS)


@pytest.mark.parametrize(
    ("status", "body", "code", "is_temporary"),
    [
        (409, b'{"error":{"code":"environment_offline","message":"away"}}', "environment_offline", True),
        (403, b'{"error":{"code":"forbidden","message":"no"}}', "forbidden", False),
        (503, b"<html>", "", True),
        (302, b"", "", False),
        (200, b"<html>", "unreadable", False),
        (200, b'{"\x80"', "unreadable", False),
        (200, b"[" * 50_000, "unreadable", False),
    ],
)
async def test_an_error_has_its_code(status: int, body: bytes, code: str, *, is_temporary: bool) -> None:
    with answering(status, body, ("Location", "http://127.0.0.1:1/")) as url, pytest.raises(RegistryRefused) as caught:
        await RegistryClient(url, "token").connect("e", KEYS)
    assert (caught.value.code, caught.value.is_temporary) == (code, is_temporary)


async def test_an_answer_for_another_environment_is_refused() -> None:
    body = b'{"environment_id":"x","url":"u","security_profile":"noise_hybrid_ik_v1","executor_registration_id":"r"}'
    with answering(200, body) as url, pytest.raises(RegistryRefused, match="another environment"):
        await RegistryClient(url, "token").register("e", KEYS, "name")


async def test_good_answers_are_read() -> None:
    key = msgspec.json.encode(public_key_object(KEYS)).decode()
    body = f"""{{"environment_id":"e","url":"u","security_profile":"noise_hybrid_ik_v1","executor_registration_id":"r",
        "executor_public_key":{key},"harness_key_authorization":"a","valid":true,"environments":[]}}"""
    with answering(200, body.encode()) as url:
        registry = RegistryClient(url, "token")
        assert (await registry.register("e", KEYS, "")).executor_registration_id == "r"
        assert (await registry.connect("e", KEYS)).harness_key_authorization == "a"
        assert await registry.validate("e", "r", KEYS, "a")
        assert await registry.environments() == []
        with pytest.raises(RegistryRefused, match="another environment"):
            await registry.connect("other", KEYS)


async def test_what_is_not_http_is_an_os_error() -> None:
    async def gibberish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"gibberish\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(gibberish, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(OSError, match="does not speak HTTP"):
        await RegistryClient(f"http://127.0.0.1:{port}", "token").environments()
    server.close()


async def test_a_certificate_that_is_not_trusted_is_explained(tmp_path: Path) -> None:
    async with small_web({}, own_certificate(tmp_path / "certificate.pem")) as web:
        with pytest.raises(ConnectionError, match=r"not trusted here: self.signed certificate; set SSL_CERT_FILE"):
            await RegistryClient(web.url("").replace("http", "https"), None).environments()


async def test_a_registry_that_does_not_speak_https_is_named() -> None:
    with answering(200, b"{}") as url, pytest.raises(ConnectionError, match="does not speak HTTPS"):
        await RegistryClient(url.replace("http", "https"), None).environments()


async def test_headers_are_made_for_each_request() -> None:
    made: list[int] = []

    def proof() -> dict[str, str]:
        made.append(len(made))
        return {"Authorization": f"number {len(made)}"}

    with answering(200, b'{"environments": []}') as url:
        client = RegistryClient(url, proof)
        await client.environments()
        await client.environments()
    assert made == [0, 1]
