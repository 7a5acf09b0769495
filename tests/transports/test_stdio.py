"""Stdin and stdout as the shell may connect them: pipes, sockets, files, a terminal, nothing at all."""

import asyncio
import contextlib
import os
import pty
import socket
import tty
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.channel import Frame, FrameKind, UnreadableFrame
from codex_mcp.transports.stdio import StdioChannel, open_stdio
from tests.support.patience import PATIENCE
from tests.support.rpc.reading import receive

MAX_BYTES = 8 * 1024 * 1024


@contextlib.asynccontextmanager
async def piped(limit: int = MAX_BYTES) -> AsyncIterator[tuple[StdioChannel, IO[bytes], IO[bytes]]]:
    """A channel on two pipes, and the client's ends of them: what it writes to and what it reads from."""
    their_stdin, to_us = os.pipe()
    from_us, their_stdout = os.pipe()
    with open(to_us, "wb", buffering=0) as writer, open(from_us, "rb", buffering=0) as reader:  # noqa: ASYNC230  pipes
        stdin, stdout = open(their_stdin, "rb"), open(their_stdout, "wb")  # noqa: ASYNC230, SIM115  closed by transports
        channel = await open_stdio(stdin, stdout, limit)
        try:
            yield channel, writer, reader
        finally:
            writer.close()
            reader.close()
            async with asyncio.timeout(PATIENCE):
                while await receive(channel):
                    pass
                await channel.aclose()
                while not (stdin.closed and stdout.closed):  # noqa: ASYNC110  their transports tell nobody
                    await asyncio.sleep(0)


async def received(channel: StdioChannel) -> list[Frame]:
    """Everything until the end."""
    frames: list[Frame] = []
    async with asyncio.timeout(PATIENCE):
        while some := await receive(channel):
            frames += some
    return frames


async def next_frames(channel: StdioChannel) -> Sequence[Frame]:
    async with asyncio.timeout(PATIENCE):
        return await receive(channel)


async def test_frames_come_and_go_through_pipes() -> None:
    async with piped() as (channel, writer, reader):
        writer.write(b'{"a":1}\n{"b":2}\n{"c"')
        assert await next_frames(channel) == [b'{"a":1}', b'{"b":2}']
        writer.write(b":3}")
        writer.close()
        assert await received(channel) == [b'{"c":3}']
        channel.send(b"{}")
        await channel.drain(1)
        assert reader.read(100) == b"{}\n"


async def test_the_client_is_answered_in_its_own_framing() -> None:
    async with piped() as (channel, writer, reader):
        writer.write(b"Content-Length: 2\r\n\r\n{}")
        assert await next_frames(channel) == [b"{}"]
        channel.send(b"[]")
        await channel.drain(1)
        assert reader.read(100) == b"Content-Length: 2\r\n\r\n[]"


async def test_a_message_that_is_too_large_is_skipped() -> None:
    async with piped(limit=10) as (channel, writer, _reader):
        writer.write(b"x" * 50_000 + b"\n{}\n")
        writer.close()
        assert await received(channel) == [UnreadableFrame("the message is larger than 10 bytes"), b"{}"]


async def test_a_huge_message_passes_in_both_directions() -> None:
    huge = b"x" * (MAX_BYTES // 2)
    async with piped() as (channel, writer, reader):
        tasks = TaskSet()
        writing = tasks.spawn(asyncio.to_thread(writer.write, huge + b"\n"), name="client writes")
        frames = await next_frames(channel)
        await writing
        assert frames == [huge]

        channel.send(huge)
        draining = tasks.spawn(channel.drain(1), name="drain")
        data = b""
        while len(data) < len(huge) + 1:
            data += await asyncio.to_thread(reader.read, 1 << 20)
        await draining
        assert data == huge + b"\n"


async def test_a_client_that_is_gone_takes_nothing_and_holds_up_nobody() -> None:
    async with piped() as (channel, _writer, reader):
        reader.close()
        channel.send(b"x" * MAX_BYTES)
        async with asyncio.timeout(PATIENCE):
            await channel.drain(1)
        channel.send(b"{}")
        await channel.drain(1)


async def test_one_socket_serves_as_well_as_two_pipes() -> None:
    ours, theirs = socket.socketpair()
    with theirs, os.fdopen(os.dup(ours.fileno()), "wb", buffering=0) as stdout:
        stdin = open(ours.detach(), "rb", buffering=0)  # noqa: ASYNC230, SIM115  closed by its transport
        channel = await open_stdio(stdin, stdout, MAX_BYTES)
        theirs.send(b"{}\n")
        assert await next_frames(channel) == [b"{}"]
        channel.send(b"[]")
        await channel.drain(1)
        theirs.settimeout(PATIENCE)
        assert theirs.recv(100) == b"[]\n"
        theirs.shutdown(socket.SHUT_WR)
        assert await received(channel) == []
        channel.send(b"at last")
        await channel.aclose()
        assert theirs.recv(100) == b"at last\n"
        while not stdin.closed:  # noqa: ASYNC110  its transport tells nobody
            await asyncio.sleep(0)


async def test_files_serve_as_well_as_pipes(tmp_path: Path) -> None:
    questions, answers = tmp_path / "questions", tmp_path / "answers"
    questions.write_bytes(b"one\n" * 100_000 + b"two")
    with questions.open("rb") as stdin, answers.open("wb") as stdout:
        channel = await open_stdio(stdin, stdout, MAX_BYTES)
        frames = await received(channel)
        channel.send(b"{}")
        await channel.drain(1)
        await channel.aclose()
    assert frames == [b"one"] * 100_000 + [b"two"]
    assert answers.read_bytes() == b"{}\n"


async def test_nothing_at_all_is_an_end() -> None:
    with open(os.devnull, "rb") as stdin, open(os.devnull, "wb") as stdout:  # noqa: ASYNC230  no disk
        channel = await open_stdio(stdin, stdout, MAX_BYTES)
        assert await received(channel) == []
        channel.send(b"{}")
        await channel.aclose()


async def test_a_disk_that_is_full_is_a_client_that_does_not_read() -> None:
    with open(os.devnull, "rb") as stdin, open("/dev/full", "wb", buffering=0) as stdout:  # noqa: ASYNC230  no disk
        channel = await open_stdio(stdin, stdout, MAX_BYTES)
        channel.send(b"{}")
        await channel.drain(1)
        assert await received(channel) == []


async def test_a_person_at_a_terminal_can_type_and_read_and_hang_up() -> None:
    person, ours = pty.openpty()
    tty.setraw(ours)
    with open(ours, "r+b", buffering=0) as line:  # noqa: ASYNC230  a terminal
        channel = await open_stdio(line, line, MAX_BYTES)
        os.write(person, b"{}\n")
        assert await next_frames(channel) == [b"{}"]
        channel.send(b"[]")
        assert os.read(person, 100) == b"[]\n"
        os.close(person)
        assert await received(channel) == []
        channel.send(b"nobody is there")


@pytest.mark.parametrize("content", [b"{}\n", b""])
def test_a_loop_that_is_closed_while_stdin_is_read_is_left_alone(content: bytes) -> None:
    person, ours = pty.openpty()
    tty.setraw(ours)
    with open(ours, "r+b", buffering=0) as line:
        asyncio.run(_opened(line))
        os.write(person, content)
        os.close(person)


async def _opened(line: IO[bytes]) -> None:
    await open_stdio(line, line, MAX_BYTES)


async def test_a_client_that_no_longer_reads_is_noticed_without_a_write() -> None:
    async with piped() as (channel, _writer, reader):
        reader.close()
        async with asyncio.timeout(PATIENCE):
            await channel.until_unread()


async def test_it_knows_which_answers_wait_in_the_pipe() -> None:
    async with piped() as (channel, _, reader):
        for number in (1, 2):
            channel.send(b'{"answer": %d}' % number, number, FrameKind.ANSWER)
        await channel.drain(1)
        assert [channel.is_unread(number) for number in (1, 2, 3)] == [True, True, False]
        assert reader.readline() == b'{"answer": 1}\n'
        assert [channel.is_unread(number) for number in (1, 2)] == [False, True]
        channel.send(b'{"note": 1}')
        await channel.drain(1)
        assert reader.readline() == b'{"answer": 2}\n'
        assert not channel.is_unread(2), "what follows the answer does not count"


async def test_once_only_answers_are_sent_nothing_else_follows() -> None:
    async with piped() as (channel, _, reader):
        channel.send_only_answers()
        channel.send(b'{"note": 1}')
        channel.send(b'{"question": 1}', 1, FrameKind.REQUEST)
        channel.send(b'{"answer": 1}', 1, FrameKind.ANSWER)
        await channel.drain(1)
        assert reader.readline() == b'{"answer": 1}\n'
