"""Requests are taken off a buffer however they arrive, and what is no HTTP is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.scripted_model.http import MAX_HEAD, BadHttp, HttpRequest, chunk, head, take_request, whole

POST = b"POST /v1/responses?x=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
GET = b"GET /gates HTTP/1.1\r\n\r\n"


def test_two_requests_in_one_buffer_are_taken_one_after_the_other() -> None:
    buffer = bytearray(POST + GET)
    headers = {"host": "a", "content-length": "3"}
    assert take_request(buffer) == HttpRequest("POST", "/v1/responses", headers, b"abc")
    assert take_request(buffer) == HttpRequest("GET", "/gates", {}, b"")
    assert take_request(buffer) is None
    assert buffer == b""


@given(st.integers(0, len(POST) - 1))
def test_a_part_of_a_request_is_no_request_yet(length: int) -> None:
    buffer = bytearray(POST[:length])
    assert take_request(buffer) is None
    buffer += POST[length:]
    assert take_request(buffer) is not None


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 411),
        (b"x" * (MAX_HEAD + 1), 431),
    ],
)
def test_what_is_no_request_that_we_understand_is_refused(data: bytes, status: int) -> None:
    with pytest.raises(BadHttp, match=r"^cannot ") as caught:
        take_request(bytearray(data))
    assert caught.value.status == status


def test_answers_are_http() -> None:
    assert head(200, {"a": "b"}) == b"HTTP/1.1 200 OK\r\na: b\r\n\r\n"
    assert head(599, {}) == b"HTTP/1.1 599 Unknown\r\n\r\n"
    assert (
        whole(404, b"{}") == b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
    )
    assert chunk(b"a" * 17) == b"11\r\n" + b"a" * 17 + b"\r\n"
