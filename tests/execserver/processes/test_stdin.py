import asyncio
import os

import pytest

from codex_mcp.execserver.processes.stdin import QUEUE, WAITING, Stdin, StdinFull

BIG = b"x" * (1 << 20)
"""More than a pipe holds."""


def a_pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    return reading, writing


async def read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await asyncio.to_thread(os.read, fd, size - len(data))
    return data


async def test_what_the_process_does_not_read_yet_waits_in_order() -> None:
    reading, writing = a_pipe()
    stdin = Stdin(writing, is_terminal=False)
    assert stdin.write(b"first") is None
    assert stdin.write(BIG) is None
    assert stdin.write(b"last") is None
    stdin.end()
    assert stdin.was_ended
    assert await read(reading, len(BIG) + 9) == b"first" + BIG + b"last"
    assert await asyncio.to_thread(os.read, reading, 1) == b"", "and then comes the end"
    os.close(reading)


async def test_beyond_the_queue_a_write_waits_and_beyond_that_it_is_refused() -> None:
    reading, writing = a_pipe()
    stdin = Stdin(writing, is_terminal=False)
    assert stdin.write(BIG) is None
    assert all(stdin.write(b".") is None for _ in range(QUEUE - 1))
    waiting = [stdin.write(b".") for _ in range(WAITING)]
    with pytest.raises(StdinFull):
        stdin.write(b".")
    assert await read(reading, len(BIG) + QUEUE + WAITING - 1)
    for room in waiting:
        assert room is not None
        await room
    stdin.close()
    stdin.close()
    os.close(reading)


async def test_closing_releases_those_who_wait() -> None:
    reading, writing = a_pipe()
    stdin = Stdin(writing, is_terminal=False)
    stdin.write(BIG)
    for _ in range(QUEUE - 1):
        stdin.write(b".")
    room = stdin.write(b".")
    assert room is not None
    stdin.close()
    await room
    assert stdin.write(b"late") is None
    os.close(reading)


async def test_writes_to_a_process_that_is_gone_go_nowhere() -> None:
    reading, writing = a_pipe()
    stdin = Stdin(writing, is_terminal=False)
    os.close(reading)
    assert stdin.write(b"x") is None
    assert stdin.is_closed
    assert stdin.write(b"y") is None


async def test_a_terminal_is_told_of_the_end_and_stays_open() -> None:
    reading, writing = a_pipe()
    stdin = Stdin(writing, is_terminal=True)
    stdin.end()
    assert os.read(reading, 10) == b"\x04"
    assert not stdin.is_closed
    assert not stdin.was_ended
    stdin.close()
    os.close(reading)
