"""An answer that is sent in one piece says what uvicorn would say, and leaves the request as uvicorn would."""

import asyncio
import logging
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from codex_mcp.transports.http import JSON, Header
from codex_mcp.transports.response_writes import HeldHead, send_whole

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
DATE = (b"date", b"Sun, 15 Nov 2026 21:00:00 GMT")
SESSION = (b"mcp-session-id", b"one")
BODY = b'{"answer": 42}'


class Connection(asyncio.Transport):
    """A connection that shows what was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep it."""
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        """Is it closed?"""
        return self.closed

    def close(self) -> None:
        """Nothing follows."""
        self.closed = True


class Request:
    """A request that waits for its answer."""

    def __init__(self, *, keep_alive: bool = True) -> None:
        self.connection = Connection()
        self.answers = 0
        self.flow = FlowControl(self.connection)
        self.cycle = RequestResponseCycle(
            scope={"type": "http", "method": "POST"},  # type: ignore[typeddict-item]
            transport=HeldHead(self.connection),  # type: ignore[arg-type]
            flow=self.flow,
            logger=logging.getLogger(__name__),
            access_logger=logging.getLogger(__name__),
            access_log=False,
            default_headers=[DATE],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=keep_alive,
            on_response=self.answered,
        )

    def answered(self) -> None:
        """It is."""
        self.answers += 1

    async def send_in_steps(self, status: int, headers: Sequence[Header], body: bytes) -> None:
        """Answer as ASGI has it."""
        headers = [*headers, (b"content-length", str(len(body)).encode())]
        await self.cycle.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.cycle.send({"type": "http.response.body", "body": body, "more_body": False})


@pytest.mark.parametrize("status", [200, 202, 204, 400, 503])
@pytest.mark.parametrize("headers", [(), (JSON,), (JSON, SESSION, (b"vary", b"origin"))])
@pytest.mark.parametrize("body", [b"", BODY, b"x" * 100_000])
async def test_the_bytes_are_those_of_uvicorn(status: int, headers: Sequence[Header], body: bytes) -> None:
    whole, steps = Request(), Request()
    assert send_whole(whole.cycle, status, headers, body)
    await steps.send_in_steps(status, headers, body)
    assert whole.connection.pieces == steps.connection.pieces
    assert len(whole.connection.pieces) == 1
    for request in (whole, steps):
        assert request.answers == 1
        assert request.cycle.response_started
        assert request.cycle.response_complete
        assert await request.cycle.receive() == {"type": "http.disconnect"}


async def test_what_is_out_of_the_ordinary_is_left_to_uvicorn() -> None:
    last, paused, gone, begun, closing = Request(keep_alive=False), Request(), Request(), Request(), Request()
    paused.flow.pause_writing()
    gone.cycle.disconnected = True
    begun.cycle.response_started = True
    for request in (last, paused, gone, begun):
        assert not send_whole(request.cycle, 200, (JSON,), BODY)
    assert not send_whole(closing.cycle, 200, (JSON, (b"connection", b"close")), BODY)
    for request in (last, paused, gone, begun, closing):
        assert (request.connection.pieces, request.answers) == ([], 0)


@pytest.mark.parametrize("header", [(b"x-id", b"1\r\nx-other: 2"), (b"x id", b"1"), (b"x-id", b"1\x00")])
async def test_a_header_that_would_break_the_head_is_refused(header: Header) -> None:
    request = Request()
    with pytest.raises(RuntimeError):
        send_whole(request.cycle, 200, (header,), BODY)
    assert request.connection.pieces == []
    assert not request.cycle.response_started


@given(st.lists(st.binary(), min_size=1))
def test_the_first_piece_goes_out_with_the_head_and_every_other_as_it_comes(body: list[bytes]) -> None:
    written = Connection()
    answer = HeldHead(written)
    answer.write(HEAD)
    assert written.pieces == []
    for number, piece in enumerate(body, 1):
        answer.write(piece)
        assert len(written.pieces) == number
    assert written.pieces == [HEAD + body[0], *body[1:]]


def test_a_connection_is_closed_through_it() -> None:
    written = Connection()
    answer = HeldHead(written)
    assert not answer.is_closing()
    answer.close()
    assert answer.is_closing()
    assert written.closed
