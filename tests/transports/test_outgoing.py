"""Bytes on their way out through a real pipe."""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import AsyncIterator
from typing import IO

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.outgoing import HangUpWatch, OutgoingBytes, OutgoingSocketBytes
from tests.support.patience import PATIENCE

PIPE_BYTES = 65536
"""What a pipe holds on Linux."""

HUGE = 4 * 1024 * 1024


@contextlib.asynccontextmanager
async def pipe() -> AsyncIterator[tuple[OutgoingBytes, IO[bytes]]]:
    """Our end, and the reader's."""
    reading, writing = os.pipe()
    writer = open(writing, "wb", buffering=0)  # noqa: ASYNC230, SIM115  a pipe; closed by its transport
    with open(reading, "rb", buffering=0) as reader:  # noqa: ASYNC230  a pipe
        transport, output = await asyncio.get_running_loop().connect_write_pipe(OutgoingBytes, writer)
        try:
            yield output, reader
        finally:
            if not output.lost:
                transport.abort()
            await asyncio.sleep(0)  # the transport closes its file in the loop's next pass


async def read_all(reader: IO[bytes], size: int) -> bytes:
    """Read so many bytes, in a thread, as another process would."""
    data = bytearray()

    def read() -> None:
        while len(data) < size and (piece := reader.read(PIPE_BYTES)):
            data.extend(piece)

    thread = threading.Thread(target=read, name="reader")
    thread.start()
    await asyncio.to_thread(thread.join)
    return bytes(data)


async def test_what_is_written_in_one_pass_leaves_together_and_in_order() -> None:
    async with pipe() as (output, reader):
        output.write(b"one ")
        output.write(b"two ")
        assert output.queued == 8
        output.flush()
        assert output.queued == 0
        assert reader.read(100) == b"one two "


async def test_what_is_written_leaves_without_being_asked() -> None:
    async with pipe() as (output, reader):
        output.write(b"one")
        await asyncio.sleep(0)
        assert reader.read(100) == b"one"
        await output.drain(1)


async def test_a_slow_reader_holds_us_back_until_it_has_read() -> None:
    async with pipe() as (output, reader):
        tasks = TaskSet()
        output.write(b"x" * HUGE)
        draining = tasks.spawn(output.drain(1), name="drain")
        await asyncio.sleep(0)
        assert output.queued == HUGE - PIPE_BYTES
        assert not draining.done()

        assert await read_all(reader, HUGE) == b"x" * HUGE
        await draining
        assert output.queued == 0


async def test_the_very_last_byte_is_waited_for_too() -> None:
    async with pipe() as (output, reader):
        output.write(b"x" * (PIPE_BYTES + 1))
        output.flush()
        assert output.queued == 1
        tasks = TaskSet()
        draining = tasks.spawn(output.drain(1), name="drain")
        assert len(await read_all(reader, PIPE_BYTES + 1)) == PIPE_BYTES + 1
        async with asyncio.timeout(PATIENCE):
            await draining


async def test_only_so_much_must_have_been_read_as_was_asked() -> None:
    async with pipe() as (output, _reader):
        output.write(b"x" * (PIPE_BYTES + 10))
        await output.drain(below=100)
        assert output.queued == 10


async def test_a_reader_that_goes_away_releases_everyone() -> None:
    async with pipe() as (output, reader):
        tasks = TaskSet()
        output.write(b"x" * HUGE)
        waiting = [tasks.spawn(output.drain(1), name="drain"), tasks.spawn(output.aclose(), name="close")]
        given_up = tasks.spawn(output.drain(1), name="drain")
        await asyncio.sleep(0)
        given_up.cancel()
        reader.close()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait(waiting)
        assert output.lost
        output.write(b"nobody reads this")
        await output.drain(1)
        assert output.queued == 0


async def test_closing_writes_what_is_queued_first_and_may_be_done_twice() -> None:
    async with pipe() as (output, reader):
        tasks = TaskSet()
        output.write(b"x" * HUGE)
        closing = tasks.spawn(output.aclose(), name="close")
        assert len(await read_all(reader, HUGE + 1)) == HUGE
        await closing
        await output.aclose()
        assert reader.read() == b""


async def test_without_a_pipe_there_is_nothing_to_wait_for() -> None:
    output = OutgoingBytes()
    await output.aclose()
    assert (output.queued, output.lost) == (0, False)


async def test_of_a_socket_only_the_way_out_is_taken() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        mine = socket.socket(fileno=os.dup(ours.fileno()))
        _, output = await asyncio.get_running_loop().connect_accepted_socket(OutgoingSocketBytes, mine)
        theirs.send(b"for somebody else")
        output.write(b"x" * 100)
        await output.drain(1)
        await output.aclose()
        assert theirs.recv(1000) == b"x" * 100
        assert ours.recv(1000) == b"for somebody else"


async def test_who_watches_is_told_once_when_the_other_end_is_closed() -> None:
    ours, theirs = socket.socketpair()
    gone = asyncio.Event()
    with ours:
        watch = HangUpWatch(ours.fileno(), gone.set)
        theirs.close()
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
        watch.close()


async def test_an_end_that_only_writes_no_more_is_still_there() -> None:
    ours, theirs = socket.socketpair()
    told: list[str] = []
    with ours, theirs:
        watch = HangUpWatch(ours.fileno(), lambda: told.append("gone"))
        theirs.shutdown(socket.SHUT_WR)
        loop = asyncio.get_running_loop()
        seen = asyncio.Event()
        loop.add_reader(ours.fileno(), seen.set)
        async with asyncio.timeout(PATIENCE):
            await seen.wait()
        loop.remove_reader(ours.fileno())
        await asyncio.sleep(0)
        assert told == []
        ours.send(b"read me")
        assert theirs.recv(100) == b"read me"
        watch.close()


async def test_a_watched_socket_is_lost_without_a_write() -> None:
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    _, output = await loop.connect_accepted_socket(lambda: OutgoingSocketBytes(is_watched=True), ours)
    theirs.close()
    async with asyncio.timeout(PATIENCE):
        await output.until_lost()
    assert output.lost
