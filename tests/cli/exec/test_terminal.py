"""Our own end of a command that runs elsewhere: terminals, files, pipes."""

import contextlib
import os
import termios
from pathlib import Path

import pytest

from codex_mcp.cli.exec.terminal import StandardStreams, raw, read_input, write_output


async def read_all(fd: int) -> bytes:
    return b"".join([data async for data in read_input(fd)])


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 200_000)
    with open(tmp_path / "x", "rb") as file:  # noqa: ASYNC230  the point is that such a file cannot be waited for
        assert await read_all(file.fileno()) == b"x" * 200_000


async def test_a_pipe_is_read_until_its_writers_are_gone_and_stays_blocking() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"some")
    os.close(writing)
    try:
        assert await read_all(reading) == b"some"
        assert os.get_blocking(reading)
    finally:
        os.close(reading)


async def test_a_terminal_that_is_hung_up_is_an_end() -> None:
    master, slave = os.openpty()
    os.close(master)
    try:
        assert await read_all(slave) == b""
    finally:
        os.close(slave)


def test_a_raw_terminal_is_put_back_as_it_was() -> None:
    master, slave = os.openpty()
    try:
        before = termios.tcgetattr(slave)
        with contextlib.suppress(ValueError), raw(slave):
            assert termios.tcgetattr(slave) != before
            raise ValueError
        assert termios.tcgetattr(slave) == before
        assert StandardStreams(slave, slave, slave).is_terminal
        assert StandardStreams(slave, slave, slave).size() == os.get_terminal_size(slave)
    finally:
        os.close(master)
        os.close(slave)


def test_a_pipe_is_no_terminal() -> None:
    reading, writing = os.pipe()
    try:
        assert not StandardStreams(reading, writing, writing).is_terminal
    finally:
        os.close(reading)
        os.close(writing)


async def test_output_is_written_whole_or_its_reader_is_gone() -> None:
    reading, writing = os.pipe()
    try:
        await write_output(writing, b"all of it")
        assert os.read(reading, 100) == b"all of it"
    finally:
        os.close(reading)
    try:
        with pytest.raises(BrokenPipeError):
            await write_output(writing, b"x")
    finally:
        os.close(writing)
