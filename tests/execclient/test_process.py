"""A process handle on the real server: its events, its input, its end; and what a slow or absent reader costs."""

import asyncio
import signal
from pathlib import Path

import pytest

from codex_mcp.execclient.errors import EventGap, ExecServerError, NotOffered, OutputUnread
from codex_mcp.execclient.options import StartOptions
from codex_mcp.execclient.process import WRITE_BYTES, Completed
from codex_mcp.wire.exec.protocol import EnvironmentStatus, OutputStream, ProcessClosed, ProcessExited, ProcessOutput
from tests.support.exec.exec_server import connected


async def test_output_exit_and_end_come_in_one_sequence(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["sh", "-c", "echo out; exit 3"])
        events = [event async for event in process.events()]
        assert [event.seq for event in events] == [1, 2, 3]
        assert ProcessClosed(process.id, 3) == events[-1]
        assert sorted(type(event).__name__ for event in events[:2]) == ["ProcessExited", "ProcessOutput"]
        assert await process.wait() == process.exit_code == 3
        assert process.is_over
        assert [event async for event in process.events()] == []


async def test_everything_can_be_collected_with_both_streams_apart(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["sh", "-c", "echo out; echo err >&2; exit 4"])
        assert await process.collect() == Completed(4, b"out\n", b"err\n")
        assert "exit code 4" in repr(process)


async def test_a_terminal_echoes_what_is_typed_and_hears_an_interrupt(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        script = "trap 'echo caught; exit 9' INT; echo ready; while :; do read -r line; echo got $line; done"
        process = await setting.client.start(["bash", "-c", script], StartOptions(tty=True))
        said = b""
        async for event in process.events():
            if isinstance(event, ProcessOutput):
                assert event.stream is OutputStream.PTY
                before, said = said, said + event.chunk
                if b"ready" in said and b"ready" not in before:
                    await process.write(b"hello\n")
                if b"got hello" in said and b"got hello" not in before:
                    await process.signal()
        assert said.replace(b"\r\n", b"\n").endswith(b"caught\n")
        assert await process.wait() == 9


async def test_large_input_is_written_in_pieces_and_comes_back_whole(tmp_path: Path) -> None:
    data = bytes(range(256)) * (3 * WRITE_BYTES // 256)
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["head", "-c", str(len(data))], StartOptions(pipe_stdin=True))
        async with asyncio.TaskGroup() as group:
            collected = group.create_task(process.collect())
            await process.write(data)
        assert collected.result() == Completed(0, data, b"")


async def test_a_write_whose_answer_was_lost_is_repeated_but_not_written_twice(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["head", "-n", "2"], StartOptions(pipe_stdin=True))
        setting.proxy.mute()
        async with asyncio.TaskGroup() as group:
            group.create_task(process.write(b"one\n"))
            await setting.proxy.something_held.wait()
            setting.proxy.cut()
        await process.write(b"two\n")
        assert (await process.collect()).stdout == b"one\ntwo\n"


async def test_what_came_while_nobody_was_connected_is_fetched(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        go, done = setting.folder / "go", setting.folder / "done"
        process = await setting.client.start(["sh", "-c", "mkfifo go done; echo a; read x < go; echo b; echo > done"])
        events = process.events()
        assert await anext(events) == ProcessOutput(process.id, 1, OutputStream.STDOUT, b"a\n")
        setting.proxy.is_refusing = True
        setting.proxy.cut()
        await setting.proxy.knocks(2)
        await asyncio.to_thread(go.write_text, "\n")
        await asyncio.to_thread(done.read_text)
        setting.proxy.is_refusing = False
        rest = [event async for event in events]
        # Wherever it stands: the real server may report the exit before the output that came with it.
        assert [event.chunk for event in rest if isinstance(event, ProcessOutput)] == [b"b\n"]
        assert rest[-1] == ProcessClosed(process.id, 4)


async def test_output_beyond_what_the_server_retains_ends_that_process_alone(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        go, done = setting.folder / "go", setting.folder / "done"
        chatty = await setting.client.start(
            ["sh", "-c", "mkfifo go done; echo a; read x < go; head -c 3000000 /dev/zero; echo > done; sleep 60"]
        )
        quiet = await setting.client.start(["head", "-n", "1"], StartOptions(pipe_stdin=True))
        events = chatty.events()
        await anext(events)
        setting.proxy.is_refusing = True
        setting.proxy.cut()
        await setting.proxy.knocks(2)
        await asyncio.to_thread(go.write_text, "\n")
        await asyncio.to_thread(done.read_text)
        setting.proxy.is_refusing = False
        with pytest.raises(EventGap) as gap:
            await anext(events)
        assert gap.value.process_id == chatty.id
        assert gap.value.missing == 2
        await quiet.write(b"still here\n")
        assert (await quiet.collect()).stdout == b"still here\n"
        # Nobody follows it any longer, so it does not run any longer either.
        read = await chatty.read()
        while not read.exited:
            read = await chatty.read(read.next_seq - 1, wait_ms=10_000)
        assert read.exit_code == 128 + signal.SIGKILL


async def test_a_slow_reader_that_makes_calls_loses_nothing(tmp_path: Path) -> None:
    """Held back by its own unread output, the connection must still bring the answers that the reader waits for."""
    size = 20_000_000
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["head", "-c", str(size), "/dev/zero"])
        got = calls = 0
        async for event in process.events():
            if isinstance(event, ProcessOutput):
                got += len(event.chunk)
                if got // 1_000_000 > calls:
                    calls += 1
                    await setting.client.environment_status()
        assert (got, calls) == (size, 20)


async def test_output_that_nobody_reads_ends_the_process_before_it_fills_the_memory(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["head", "-c", "200000000", "/dev/zero"])
        with pytest.raises(OutputUnread, match=r"iterate over events"):
            await process.wait()
        with pytest.raises(OutputUnread):
            await process.collect()
        assert await setting.client.environment_status() == EnvironmentStatus()


async def test_one_reader_at_a_time(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["sh", "-c", "echo a; sleep 60"])
        events = process.events()
        await anext(events)
        with pytest.raises(ExecServerError, match="already have a reader"):
            await anext(process.events())
        assert await process.terminate()
        assert isinstance(await anext(events), ProcessExited)
        await process.wait()
        assert not await process.terminate()


async def test_a_process_without_stdin_refuses_input(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["sleep", "60"])
        with pytest.raises(ExecServerError, match="pipe_stdin"):
            await process.write(b"x")


async def test_what_a_server_does_not_announce_is_not_asked_of_it(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["sleep", "60"], StartOptions(tty=True))
        assert not setting.client.can_resize
        assert not setting.client.can_close_stdin
        with pytest.raises(NotOffered):
            await process.resize(50, 132)
        with pytest.raises(NotOffered):
            await process.close_stdin()


async def test_the_servers_own_memory_can_be_read_again(tmp_path: Path) -> None:
    async with connected(tmp_path) as setting:
        process = await setting.client.start(["sh", "-c", "echo a; exit 5"])
        await process.collect()
        read = await process.read()
        assert [chunk.chunk for chunk in read.chunks] == [b"a\n"]
        assert (read.next_seq, read.exited, read.exit_code, read.closed) == (4, True, 5, True)
        assert (await process.read(3)).chunks == []
