"""A WebSocket message that is not complete has limits in time and in bytes."""

from typing import Any

import pytest

from codex_mcp.transports import connections
from codex_mcp.transports.http import HttpExchange
from codex_mcp.transports.web_limits import WebLimits
from codex_mcp.transports.websockets.channel import ROOM, SocketChannel
from codex_mcp.transports.websockets.socket import SocketRules
from tests.support.http.client import connect
from tests.support.patience import PATIENCE
from tests.transports.test_web_limits import PATIENT, SOON, limited

HANDSHAKE = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


EMPTY = b"\x01\x80" + bytes(4)
"""The first fragment of a message, with nothing in it."""


async def patient_socket(scope: Any, receive: Any, send: Any) -> None:
    channel = HttpExchange(scope, receive, send).accept(SocketRules(room=ROOM, counts_unsent=True), SocketChannel)
    assert channel is not None
    while await channel.receive():
        pass


@pytest.mark.parametrize("sent", [b"\x81\xfe\xff\xff" + bytes(20_000), b"\x01\x81" + bytes(5), b"\x81", EMPTY])
async def test_a_websocket_message_that_is_not_complete_in_time_costs_the_socket(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "INPUT_SECONDS", SOON)
    async with limited(patient_socket, PATIENT) as port, connect(port) as wire:
        wire.send("GET", "/", b"", HANDSHAKE)
        assert (await wire.read_head())[0] == 101
        wire.send_raw(b"\x81\x81" + bytes(5))  # one that is complete
        wire.send_raw(sent)
        assert b"did not arrive completely in time" in await wire.read_to_the_end()


async def test_bytes_of_unfinished_websocket_messages_are_limited() -> None:
    limits = WebLimits(PATIENCE, connections=connections.Connections(8, held_bytes=300_000))
    async with limited(patient_socket, limits) as port, connect(port) as wire:
        wire.send("GET", "/", b"", HANDSHAKE)
        assert (await wire.read_head())[0] == 101
        for opcode in (b"\x01", b"\x00", b"\x00"):  # in fragments, each complete
            wire.send_raw(opcode + b"\xff" + (60_000).to_bytes(8, "big") + bytes(60_004))
        assert b"too many bytes" in await wire.read_to_the_end()


async def test_fragments_count_also_if_they_are_empty() -> None:
    limits = WebLimits(PATIENCE, connections=connections.Connections(8, held_bytes=300_000))
    async with limited(patient_socket, limits) as port, connect(port) as wire:
        wire.send("GET", "/", b"", HANDSHAKE)
        assert (await wire.read_head())[0] == 101
        wire.send_raw(EMPTY + (b"\x00" + EMPTY[1:]) * 5000)
        assert b"too many bytes" in await wire.read_to_the_end()
