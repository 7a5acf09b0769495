"""What may stand beside a chunked body, in trailers and chunk extensions, is neither kept nor read without an end."""

import asyncio
from typing import Any

import pytest

from codex_mcp.transports.http import HttpExchange
from tests.support.http.client import connect
from tests.support.patience import PATIENCE
from tests.transports.test_web_limits import PATIENT, hello, limited, said

CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"


async def echo(scope: Any, receive: Any, send: Any) -> None:
    http = HttpExchange(scope, receive, send)
    body = await http.read_body(100)
    await http.respond(200, b"%b %d" % (body or b"", len(scope["headers"])))


async def test_a_few_trailers_are_left_out() -> None:
    async with limited(echo, PATIENT) as port, connect(port) as wire:
        wire.send_raw(CHUNKED + b"0;why=not\r\nx-sum: 1\r\nx-more: 2\r\n\r\n")
        assert (await wire.read_answer()).body == b"hello 2"
        assert (await wire.ask("POST", "/", b"again")).body.startswith(b"again ")


@pytest.mark.parametrize("app", [hello, echo])
@pytest.mark.parametrize(
    "beside", [b"0\r\n" + b"a:b\r\n" * 50_000, b"0\r\na: " + b"b" * 1_000_000, b"5;a=" + b"b" * 1_000_000]
)
async def test_without_an_end_they_cost_the_connection(app: Any, beside: bytes) -> None:
    async with asyncio.timeout(PATIENCE), limited(app, PATIENT) as port, connect(port) as wire:
        wire.send_raw(CHUNKED)
        wire.send_raw(beside)
        await said(wire)
