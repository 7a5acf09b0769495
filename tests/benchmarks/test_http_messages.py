"""The requests of the load are what a server of the real kind accepts: both eras, well framed."""

import msgspec
import pytest

from benchmarks.http_messages import STATELESS_REVISION, Caller, Era
from codex_mcp.mcp.eras import Stateless, era_over_http
from codex_mcp.rpc import codec
from codex_mcp.wire import jsonrpc


def parts(request: bytes) -> tuple[str, dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return first, dict(line.split(": ", 1) for line in lines), body


@pytest.mark.parametrize("era", Era)
def test_the_length_of_the_body_is_right(era: Era) -> None:
    first, headers, body = parts(Caller(1, era, "id").call("echo", {"text": "é"}, 7))
    assert first == "POST /mcp HTTP/1.1"
    assert int(headers["content-length"]) == len(body)
    assert msgspec.json.decode(body)["params"]["_meta"]["progressToken"] == 7


def test_a_stateless_call_keeps_the_rules() -> None:
    _, headers, body = parts(Caller(1, Era.STATELESS).call("echo", {}, 1))
    message = codec.decode(body)
    assert isinstance(message, jsonrpc.Request)
    era = era_over_http(message, headers)
    assert isinstance(era, Stateless)
    assert era.revision == STATELESS_REVISION


def test_a_session_is_named_where_there_is_one() -> None:
    assert "mcp-session-id" not in parts(Caller(1, Era.HANDSHAKE).initialize())[1]
    first, headers, body = parts(Caller(1, Era.HANDSHAKE, "id").listen())
    assert (first, headers["mcp-session-id"], body) == ("GET /mcp HTTP/1.1", "id", b"")


def test_a_notification_has_no_id() -> None:
    _, _, body = parts(Caller(1, Era.HANDSHAKE, "id").post("notifications/initialized", {}, None))
    assert "id" not in msgspec.json.decode(body)
