import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.http.response import MAX_HEAD_BYTES, InvalidResponse, ResponseParser

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A: 1\r\nx-a: 2\r\n\r\nbody"
CHUNKED = b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"
AFTER_A_WORD = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + PLAIN
TO_THE_END = b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nbody"


@given(st.sampled_from([PLAIN, CHUNKED, AFTER_A_WORD, TO_THE_END]), st.integers(1, 20))
def test_it_is_the_same_however_its_bytes_come(data: bytes, size: int) -> None:
    answer, body = ResponseParser("GET"), b""
    for start in range(0, len(data), size):
        answer.feed(data[start : start + size])
        body += answer.take()
    assert answer.is_done == (data is not TO_THE_END)
    answer.end()
    assert answer.is_done
    assert (answer.status, body) == (201 if data is CHUNKED else 200, b"body")
    if data in (PLAIN, AFTER_A_WORD):
        shown = [(header.name, header.value) for header in answer.headers]
        assert shown == [("content-length", "4"), ("x-a", "1"), ("x-a", "2")]
    assert answer.header("link") is None


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_some_answers_have_no_body_whatever_they_say(method: str, status: int) -> None:
    answer = ResponseParser(method)
    answer.feed(f"HTTP/1.1 {status} X\r\nContent-Length: 4\r\n\r\n".encode())
    assert answer.is_done
    answer.feed(b"more")
    answer.end()
    assert answer.take() == b""


@pytest.mark.parametrize("size", range(len(PLAIN)))
def test_an_end_before_the_end_is_noticed(size: int) -> None:
    answer = ResponseParser("GET")
    answer.feed(PLAIN[:size])
    with pytest.raises(InvalidResponse, match="ended before"):
        answer.end()


def test_what_is_no_http_is_noticed() -> None:
    with pytest.raises(InvalidResponse, match="not HTTP"):
        ResponseParser("GET").feed(b"SSH-2.0\r\n\r\n")


def test_a_head_without_an_end_is_given_up() -> None:
    answer = ResponseParser("GET")
    answer.feed(b"HTTP/1.1 200 OK\r\n")
    for _ in range(MAX_HEAD_BYTES // 1000 - 10):
        answer.feed(b"a: " + b"x" * 900 + b"\r\n")
    with pytest.raises(InvalidResponse):
        answer.feed((b"a: " + b"x" * 900 + b"\r\n") * 50)


@pytest.mark.parametrize("begin", [b"0\r\n", b"0\r\na: ", b"2;a="])
def test_trailers_and_chunk_extensions_are_left_out_and_given_up_without_an_end(begin: bytes) -> None:
    answer = ResponseParser("GET")
    answer.feed(CHUNKED.partition(b"0\r\n")[0] + begin)
    more = b"a: b\r\n" * 150 if begin.endswith(b"\n") else b"x" * 900
    for _ in range(MAX_HEAD_BYTES // 1000):
        answer.feed(more)
    with pytest.raises(InvalidResponse, match="the trailers"):
        answer.feed(more * 50)
    assert [header.name for header in answer.headers] == ["transfer-encoding"]


def test_a_trailer_is_no_header() -> None:
    answer = ResponseParser("GET")
    answer.feed(CHUNKED.removesuffix(b"\r\n") + b"x-sum: 1\r\n\r\n")
    assert (answer.take(), answer.is_done, answer.header("x-sum")) == (b"body", True, None)


@given(st.binary(max_size=300))
def test_garbage_is_an_error_or_nothing(data: bytes) -> None:
    answer = ResponseParser("GET")
    try:
        answer.feed(data)
        answer.end()
    except InvalidResponse:
        return
    assert answer.status
