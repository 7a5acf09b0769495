"""A channel over a real socket pair; the test is the other end, which sends and reads as it likes."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.channel import FrameKind
from codex_mcp.transports.local.channel import Bounds, LocalChannel
from codex_mcp.wire.jsonrpc import Malformed, Notification
from tests.support.patience import PATIENCE

NOTE = b'{"jsonrpc":"2.0","method":"n","params":{}}\n'


@contextlib.asynccontextmanager
async def channel(bounds: Bounds) -> AsyncIterator[tuple[LocalChannel, socket.socket]]:
    near, far = socket.socketpair()
    far.settimeout(0)
    opened = LocalChannel(bounds)
    await asyncio.get_running_loop().connect_accepted_socket(lambda: opened, near)
    with far:
        async with asyncio.timeout(PATIENCE):
            yield opened, far
    opened.abort()
    await opened.until_lost()


async def sent(far: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(far, data)


async def read(far: socket.socket, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        data += await asyncio.get_running_loop().sock_recv(far, 1 << 20)
    return data


async def test_messages_come_a_few_at_a_time_and_end_with_the_connection() -> None:
    async with channel(Bounds()) as (near, far):
        await sent(far, NOTE * 20)
        counts: list[int] = []
        while sum(counts) < 20:
            frames = await near.receive()
            assert all(isinstance(frame, Notification) for frame in frames)
            counts.append(len(frames))
        assert max(counts) == 8
        far.close()
        assert await near.receive() == []
        assert await near.receive() == []


async def test_too_many_unreadable_lines_are_the_end() -> None:
    async with channel(Bounds(message_bytes=100)) as (near, far):
        await sent(far, b"no json\n" * 5 + NOTE + b"x" * 200 + b"\n" + b"{}\n" * 20)
        frames = [*await near.receive(), *await near.receive()]
        assert sum(isinstance(frame, Malformed) for frame in frames) == 7
        assert len(frames) == 9  # the readable one is served as well; what follows the eighth is not read
        assert await near.receive() == []


async def test_a_line_without_end_is_given_up() -> None:
    async with channel(Bounds(message_bytes=1000)) as (near, far):
        with contextlib.suppress(ConnectionError):
            while True:
                await sent(far, b"x" * 1000)
        assert await near.receive() == []


async def test_one_who_does_not_read_misses_notifications_and_is_told() -> None:
    async with channel(Bounds(unread_bytes=1000, left_out=b"left out")) as (near, far):
        answer = b"a" * 1_000_000
        near.send(answer, 1, FrameKind.ANSWER)
        for _ in range(100):
            near.send(b"noted")
        assert near.queued < len(answer) + 10
        assert await read(far, b"left out\n") == answer + b"\nleft out\n"
        near.send(b"noted")
        assert await read(far, b"\n") == b"noted\n"


async def test_requests_wait_while_answers_are_not_read() -> None:
    async with channel(Bounds(unread_bytes=1000)) as (near, far):
        near.send(b"a" * 1_000_000, 1, FrameKind.ANSWER)
        await sent(far, NOTE)
        tasks = TaskSet()
        receiving = tasks.spawn(near.receive(), name="receive")
        done, _ = await asyncio.wait([receiving], timeout=0)
        assert not done
        await read(far, b"\n")
        assert len(await receiving) == 1


async def test_answers_that_nobody_reads_end_the_connection() -> None:
    async with channel(Bounds(held_bytes=2_000_000)) as (near, _far):
        for number in range(4):
            near.send(b"a" * 1_000_000, number, FrameKind.ANSWER)
        assert await near.receive() == []
        await near.aclose()
