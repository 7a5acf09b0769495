"""Whatever is sent to the server is answered with a clear error or not at all, and the server stays up."""

import contextlib
import http.client
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.http.mcp_client import BOTH, SESSION, Json, call, initialize, request, stateless
from tests.support.http.raw_http import NOTHING, TOKEN, RawServer, raw_server
from tests.support.json_values import JSON_VALUES
from tests.support.patience import PATIENCE

bounded = settings(max_examples=60)
"""Each is a conversation with a real server."""

DEEP = b"[" * 200 + b"]" * 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    """One for all: what a test does to it, the others will notice."""
    with raw_server(tmp_path_factory.mktemp("fuzz"), "--max-body-bytes", "65536") as running:
        yield running


@pytest.fixture(autouse=True)
def still_well(server: RawServer) -> Iterator[None]:
    yield
    server.check()


def introduced(server: RawServer) -> dict[str, str]:
    """The headers of a client that has shaken hands."""
    answer = server.ask("POST", "/mcp", msgspec.json.encode(initialize()), {"accept": BOTH})
    return {SESSION: answer.headers[SESSION], "accept": BOTH}


# -- HTTP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "statuses"),
    [
        (b"\x00" * 100, {400}),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", {400}),
        (b"GET / HTTP/9.9\r\n\r\n", {400}),
        (b"GET / HTTP/1.1\r\n\r\n", {421}),
        (b"GET / HTTP/1.1\r\nhost: elsewhere\r\n\r\n", {421}),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nhost: elsewhere\r\n\r\n", {400, 421}),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n", {400}),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nname : x\r\n\r\n", {400}),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n folded\r\n\r\n", {400, 421}),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", {400}),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999999999999999999999\r\n\r\n", {400}),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", {400}),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", {400}),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", {400, 401}),
        (b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n", {401, 404}),
        (b"GET /%ff%00 HTTP/1.1\r\nhost: localhost\r\n\r\n", {401, 404}),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 421}),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", {0, 431}),
    ],
    ids=repr,
)
def test_http_that_is_wrong_is_refused(server: RawServer, data: bytes, statuses: set[int]) -> None:
    assert server.say(data).status in statuses


@bounded
@given(data=st.data())
def test_http_that_was_damaged_on_its_way_breaks_nothing(server: RawServer, data: st.DataObject) -> None:
    message = server.written("POST", "/mcp", msgspec.json.encode(request(1, "ping")), {"connection": "close"})
    place = data.draw(st.integers(0, len(message)))
    message = message[:place] + data.draw(st.binary(max_size=8)) + message[place + data.draw(st.integers(0, 8)) :]
    with server.connection() as opened:
        opened.sendall(message)
    assert server.ask("GET", "/healthz").status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/jsonp"}, 415),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": "Basic dGVzdDp0ZXN0"}, 401),
        ({"authorization": "Bearer a.b.c"}, 401),
        ({"authorization": "Bearer \xff\xfe"}, 401),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[::1"}, 403),
        ({"host": "127.0.0.1.elsewhere.example"}, 421),
        ({"mcp-session-id": "\xe4\xf6\xfc"}, 400),
        ({"mcp-session-id": "x" * 2000}, 400),
    ],
    ids=repr,
)
def test_headers_that_are_wrong_are_refused(server: RawServer, headers: dict[str, str], status: int) -> None:
    answer = server.ask("POST", "/", msgspec.json.encode(request(1, "ping")), headers)
    assert answer.status == status
    assert answer.error["message"]


def test_a_body_that_is_too_long_is_refused_before_and_while_it_is_read(server: RawServer) -> None:
    said = server.ask("POST", "/mcp", b"", {"content-length": "70000"})
    chunked = server.written("POST", "/mcp", b"", {"transfer-encoding": "chunked"}).replace(
        b"content-length: 0\r\n", b""
    )
    counted = server.say(chunked + b"11170\r\n" + b" " * 70_000 + b"\r\n")
    assert (said.status, counted.status) == (413, 413)


def test_a_client_that_sends_all_of_a_body_that_is_too_long_can_read_why_it_is_refused(server: RawServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        for _ in range(2):
            headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
            connection.request("POST", "/mcp", b" " * 30_000_000, headers)
            answer = connection.getresponse()
            assert (answer.status, b"Content Too Large" in answer.read()) == (413, True)


def test_a_client_that_offers_http_2_is_answered_in_http_1(server: RawServer) -> None:
    offer = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAEAAEAAAAIAAAAA"}
    answer = server.ask("POST", "/mcp", msgspec.json.encode(initialize()), offer)
    assert answer.status == 200
    assert b'"serverInfo"' in answer.body


# -- JSON -------------------------------------------------------------------------------------------------------------

METHODS = ["initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/cancelled", "nope", ""]

messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON_VALUES,
        "id": st.integers() | st.text(max_size=5) | JSON_VALUES,
        "method": st.sampled_from(METHODS) | JSON_VALUES,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["codex_wait", "codex-reply", "nope"]) | JSON_VALUES,
                "arguments": st.dictionaries(st.sampled_from(["threadId", "threadIds", "prompt"]), JSON_VALUES)
                | JSON_VALUES,
                "_meta": JSON_VALUES,
                "requestState": st.text(max_size=20) | JSON_VALUES,
                "inputResponses": JSON_VALUES,
                "protocolVersion": JSON_VALUES,
                "capabilities": JSON_VALUES,
                "clientInfo": JSON_VALUES,
            },
        )
        | JSON_VALUES,
        "result": JSON_VALUES,
        "error": JSON_VALUES,
    },
)

bodies = st.one_of(
    st.binary(max_size=40),
    JSON_VALUES.map(msgspec.json.encode),
    messages.map(msgspec.json.encode),
    st.sampled_from([b"", b"[]", b"{", b'{"id": 1e999}', b'"\\ud800"', DEEP, b'{"params":' + DEEP + b"}", b"\xff\xfe"]),
)


@bounded
@given(body=bodies, path=st.sampled_from(["/", "/mcp"]))
def test_any_body_gets_an_answer(server: RawServer, body: bytes, path: str) -> None:
    headers = introduced(server) if path == "/mcp" else {SESSION: "fuzz"}
    answer = server.ask("POST", path, body, headers)
    assert answer.status in {200, 202, 204, 400, 404}
    if answer.status >= 400:
        assert answer.error["message"]


@bounded
@given(
    message=messages, headers=st.dictionaries(st.sampled_from(["mcp-method", "mcp-name"]), st.text("ab/=?", max_size=9))
)
def test_any_stateless_request_gets_an_answer(server: RawServer, message: Json, headers: dict[str, str]) -> None:
    given_params = message.get("params")
    params = {**given_params, "_meta": {}} if isinstance(given_params, dict) else {}
    sent, right = stateless({"method": "", **message, "params": params})
    right = {name: str(text) if str(text).isascii() and str(text).isprintable() else "" for name, text in right.items()}
    answer = server.ask("POST", "/mcp", msgspec.json.encode(sent), {**right, **headers})
    assert answer.status in {200, 202, 400, 404}


@pytest.mark.parametrize("depth", [100, 130, 400, 900, 990, 5000])
def test_depth_has_one_limit_at_every_door(server: RawServer, depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"deep": %b}}' % nested
    headers = introduced(server)
    for path, more in (("/", {}), ("/mcp", headers)):
        answer = server.ask("POST", path, body, more)
        assert answer.status == (200 if depth == 100 else 400)
        if depth != 100:
            assert "nested more than 128 deep" in answer.error["message"]


# -- ids --------------------------------------------------------------------------------------------------------------

header_texts = st.text(st.characters(min_codepoint=32, max_codepoint=255, blacklist_characters="\x7f"), max_size=60)


@bounded
@given(session_id=header_texts, method=st.sampled_from(["POST", "GET", "DELETE"]))
def test_a_session_id_that_was_made_up_leads_nowhere(server: RawServer, session_id: str, method: str) -> None:
    body = msgspec.json.encode(request(1, "ping")) if method == "POST" else b""
    answer = server.ask(method, "/mcp", body, {"accept": BOTH, SESSION: session_id})
    assert answer.status == 404


@bounded
@given(where=st.integers(-50, 150), char=st.sampled_from("aA9-_."))
def test_a_session_id_that_was_changed_leads_nowhere(server: RawServer, where: int, char: str) -> None:
    headers = introduced(server)
    right = headers[SESSION]
    place = where % len(right)
    other = "B" if right[place] == char else char
    changed = right[:place] + other + right[place + 1 :]
    body = msgspec.json.encode(request(1, "ping"))
    assert server.ask("POST", "/mcp", body, {**headers, SESSION: changed}).status == 404
    assert server.ask("POST", "/mcp", body, headers).status == 200


@bounded
@given(last=header_texts | st.sampled_from(["s-0:1", ":", "::1", "s:\xb2", "p1:" + "9" * 5000, "s-0:-1"]))
def test_any_last_event_id_is_answered_with_a_stream_of_ones_own(server: RawServer, last: str) -> None:
    answer = server.ask("GET", "/mcp", b"", {**introduced(server), "last-event-id": last})
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"


def test_numbers_behind_the_name_of_a_real_stream_are_read_or_passed_over(server: RawServer) -> None:
    headers = introduced(server)
    with server.connection() as opened:
        opened.sendall(server.written("GET", "/mcp", b"", headers))
        seen = b""
        while b"\nretry" not in seen:
            seen += opened.recv(65536)
    name = seen.partition(b"\r\nid: ")[2].partition(b":")[0].decode()
    for number in ("0", "1", "99999999", "9" * 5000, "\xb2", "-1", "", "1 ", "0x1"):
        answer = server.ask("GET", "/mcp", b"", {**headers, "last-event-id": f"{name}:{number}"})
        assert answer.status == 200, number


@bounded
@given(state=JSON_VALUES | st.text(max_size=60))
def test_a_request_state_that_was_made_up_is_refused(server: RawServer, state: object) -> None:
    sent, headers = stateless(call(1, "codex_wait", {}, requestState=state, inputResponses={}))
    answer = server.ask("POST", "/mcp", msgspec.json.encode(sent), headers)
    if state is None:
        assert answer.status == 200
    else:
        assert (answer.status, answer.error["code"]) == (400, -32602)


# -- WebSocket --------------------------------------------------------------------------------------------------------

HANDSHAKE = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def frame(first: int, payload: bytes, *, masked: bool = True) -> bytes:
    """One frame of a client; the mask is zeros."""
    length = len(payload)
    short = length if length < 126 else 126
    size = b"" if length < 126 else struct.pack("!H", length)
    return bytes([first, (0x80 if masked else 0) | short]) + size + (bytes(4) if masked else b"") + payload


@contextmanager
def web_socket(server: RawServer) -> Iterator[socket.socket]:
    """A connection that has become a WebSocket."""
    with server.connection() as opened:
        opened.sendall(server.written("GET", "/ws", b"", HANDSHAKE))
        seen = b""
        while b"\r\n\r\n" not in seen:
            seen += opened.recv(1)
        assert seen.startswith(b"HTTP/1.1 101 ")
        yield opened


def after_handshake(server: RawServer, data: bytes) -> bytes:
    """What the server says to these bytes, until it hangs up."""
    seen = b""
    with web_socket(server) as opened, suppress(ConnectionError):
        opened.sendall(data)
        while more := opened.recv(65536):
            seen += more
    return seen


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(0x81, b"{}", masked=False), 1002),
        (frame(0x83, b"reserved kind"), 1002),
        (frame(0xF1, b"reserved bits"), 1002),
        (frame(0x80, b"goes on with nothing"), 1002),
        (frame(0x09, b"a ping in pieces"), 1002),
        (frame(0x89, b"x" * 200), 1002),
        (frame(0x88, b"\x00"), 1002),
        (frame(0x88, struct.pack("!H", 999)), 1002),
        (frame(0x81, b"\xff\xfe"), 1007),
        (b"\x81\xff" + struct.pack("!Q", 1 << 62) + bytes(4), 1009),
        (b"\x81\xff" + struct.pack("!Q", 70_000) + bytes(4) + b" " * 70_000, 1009),
        (frame(0x01, b" " * 60_000) + frame(0x80, b" " * 60_000), 1009),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_frame_that_is_wrong_closes_its_socket_and_says_why(server: RawServer, data: bytes, code: int) -> None:
    said = after_handshake(server, data)
    # Of one that goes on sending, the kernel may forget our words.
    assert (said[:1], said[2:4]) == (b"\x88", struct.pack("!H", code)) or (said == b"" and len(data) > 1000)


@bounded
@given(data=st.binary(min_size=1, max_size=60))
def test_any_bytes_on_a_socket_break_nothing(server: RawServer, data: bytes) -> None:
    said = after_handshake(server, data + frame(0x88, struct.pack("!H", 1000)) + b"\x83\x80" + bytes(300))
    assert b"\x88" in said or said == b""
    assert server.ask("GET", "/healthz").status == 200


@bounded
@given(body=bodies)
def test_any_text_on_a_socket_gets_an_answer_or_none_is_due(server: RawServer, body: bytes) -> None:
    ping = msgspec.json.encode(request("after it", "ping"))
    data = frame(0x82, body) + frame(0x81, ping)
    with web_socket(server) as opened:
        opened.sendall(data)
        seen = b""
        while b'"after it"' not in seen:
            more = opened.recv(65536)
            assert more, seen
            seen += more


@pytest.mark.parametrize("missing", HANDSHAKE)
def test_a_handshake_that_is_wrong_is_refused(server: RawServer, missing: str) -> None:
    headers = {name: text for name, text in HANDSHAKE.items() if name != missing}
    answer = server.ask("GET", "/ws", b"", headers)
    assert answer == NOTHING or 400 <= answer.status < 500


def test_a_handshake_for_another_path_or_without_a_token_is_refused(server: RawServer) -> None:
    elsewhere = server.ask("GET", "/mcp", b"", HANDSHAKE)
    nobody = server.ask("GET", "/ws", b"", {**HANDSHAKE, "authorization": "Bearer nobody"})
    odd = server.ask("GET", "/ws", b"", {**HANDSHAKE, SESSION: "\xe4"})
    assert (elsewhere.status, nobody.status, odd.status) == (403, 403, 403)
