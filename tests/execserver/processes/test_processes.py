import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from codex_mcp.execserver.processes import pacing
from codex_mcp.execserver.processes import processes as module
from codex_mcp.execserver.processes.processes import Processes
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.protocol import (
    CloseStdin,
    ProcessWritten,
    ReadProcess,
    ResizeProcess,
    SandboxType,
    StartProcess,
    TerminateProcess,
    WriteProcess,
    WriteStatus,
)
from codex_mcp.wire.exec.sandbox import Disabled, ReadOnly, Sandbox
from tests.support.exec.parts import ENV, RecordingTransport, elapsed
from tests.support.patience import PATIENCE


@asynccontextmanager
async def a_session() -> AsyncIterator[tuple[Processes, RecordingTransport]]:
    processes = Processes({}, Confinement([]))
    client = RecordingTransport()
    processes.attach(client.send, is_resumed=False)
    try:
        yield processes, client
    finally:
        await processes.aclose(PATIENCE)


def shell(process_id: str, script: str, **more: object) -> StartProcess:
    return StartProcess(process_id, ["/bin/sh", "-c", script], "file:///", ENV, **({"tty": False} | more))  # type: ignore[arg-type]


async def test_a_session_ends_with_all_its_processes() -> None:
    async with a_session() as (processes, _):
        for number in range(5):
            processes.start(shell(str(number), "sleep 100"))
        assert len(processes) == 5


async def test_stdin_can_be_closed_and_then_takes_nothing() -> None:
    async with a_session() as (processes, client):
        processes.start(shell("p", "cat", pipe_stdin=True))
        processes.write(WriteProcess("p", "aGk=", "1"))
        assert processes.close_stdin(CloseStdin("p")) == ProcessWritten(WriteStatus.ACCEPTED)
        assert processes.write(WriteProcess("p", "aGk=", "2")) == ProcessWritten(WriteStatus.STDIN_CLOSED)
        assert (await client.until("process/exited"))["exitCode"] == 0
        assert processes.close_stdin(CloseStdin("none")) == ProcessWritten(WriteStatus.UNKNOWN_PROCESS)
        processes.start(shell("q", "true"))
        assert processes.close_stdin(CloseStdin("q")) == ProcessWritten(WriteStatus.STDIN_CLOSED)


async def test_a_write_without_an_id_is_written_each_time() -> None:
    async with a_session() as (processes, client):
        processes.start(shell("p", "read one; read two; echo $one-$two", pipe_stdin=True))
        for _ in range(2):
            asked = msgspec.json.decode(b'{"processId": "p", "chunk": "aGkK"}', type=WriteProcess)
            assert processes.write(asked) == ProcessWritten(WriteStatus.ACCEPTED)
        assert (await client.until("process/exited"))["exitCode"] == 0
        assert (await client.until("process/output"))["chunk"] == "aGktaGkK"


async def test_who_answers_every_write_is_read_at_once_however_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "BUSY_PAUSE", 3600.0)  # a rest would be seen
    async with a_session() as (processes, client):
        processes.start(shell("p", "cat", pipe_stdin=True))
        for number in range(3 * pacing.BUSY_READS):
            processes.write(WriteProcess("p", "eA==", str(number)))
            await client.until_true(lambda number=number: len(client.messages) > number)  # type: ignore[misc]


async def test_a_terminal_is_resized_and_only_a_terminal() -> None:
    async with a_session() as (processes, client):
        processes.start(shell("t", "read x; stty size", tty=True))
        processes.resize(ResizeProcess("t", 30, 100))
        processes.write(WriteProcess("t", "Cg==", "1"))
        await client.until("process/closed")
        read = processes.read(ReadProcess("t"))
        assert not asyncio.iscoroutine(read)
        assert b"".join(chunk.chunk for chunk in read.chunks).endswith(b"30 100\r\n")
        processes.start(shell("p", "sleep 100"))
        for asked in [ResizeProcess("p", 30, 100), ResizeProcess("t", 0, 5), ResizeProcess("x", 1, 1)]:
            with pytest.raises(RequestFailed):
                processes.resize(asked)


async def test_a_write_that_finds_no_room_is_answered_when_there_is() -> None:
    async with a_session() as (processes, client):
        processes.start(shell("p", "head -c 1 >/dev/null; sleep 0.1; wc -c", pipe_stdin=True))
        chunk = "QUFB" * 20_000
        answers = [processes.write(WriteProcess("p", chunk, str(number))) for number in range(200)]
        waiting = [answer for answer in answers if asyncio.iscoroutine(answer)]
        assert waiting
        assert {await answer for answer in waiting} == {ProcessWritten(WriteStatus.ACCEPTED)}
        assert processes.write(WriteProcess("p", chunk, "199")) == ProcessWritten(WriteStatus.ACCEPTED), "known already"
        processes.close_stdin(CloseStdin("p"))
        await client.until("process/closed")


async def test_a_session_that_is_resumed_sends_what_is_not_read_after_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "HELD", 0.01)
    async with a_session() as (processes, _):
        processes.detach()
        processes.start(shell("p", "echo missed"))
        await asyncio.wait_for(read_to_the_end(processes), PATIENCE)
        again = RecordingTransport()
        processes.attach(again.send, is_resumed=True)
        await again.until("process/closed")
        assert again.methods() == ["process/output", "process/exited", "process/closed"]


async def test_the_moment_of_a_client_that_came_and_went_is_not_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELD", 0.01)
    async with a_session() as (processes, _):
        processes.detach()
        processes.start(shell("p", "echo missed"))
        await asyncio.wait_for(read_to_the_end(processes), PATIENCE)
        processes.attach(RecordingTransport().send, is_resumed=True)
        monkeypatch.setattr(module, "HELD", 3600.0)
        again = RecordingTransport()
        processes.attach(again.send, is_resumed=True)
        await elapsed(0.02)
        assert again.messages == []


async def read_to_the_end(processes: Processes) -> None:
    after = 0
    while True:
        read = processes.read(ReadProcess("p", after_seq=after, wait_ms=5000))
        answer = await read if asyncio.iscoroutine(read) else read
        after = answer.next_seq - 1
        if answer.closed:
            return


async def test_closed_processes_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSED_RETAINED", 0.05)
    async with a_session() as (processes, client):
        processes.start(shell("p", "true"))
        await client.until("process/closed")
        with pytest.raises(RequestFailed, match="already exists"):
            processes.start(shell("p", "true"))
        await elapsed(module.CLOSED_RETAINED)
        assert not len(processes)
        processes.start(shell("p", "true"))


async def test_closed_processes_are_forgotten_early_if_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSED_COUNT", 2)
    async with a_session() as (processes, client):
        for number in range(4):
            client.messages.clear()
            processes.start(shell(str(number), "true"))
            await client.until("process/closed")
        assert len(processes) == 2


async def test_limits_that_we_do_not_keep_are_refused_and_not_dropped() -> None:
    async with a_session() as (processes, _):
        limits: list[dict[str, object]] = [
            {"sandbox": Sandbox(ReadOnly(), "disabled")},
            {"enforce_managed_network": True},
            {"managed_network": {}},
            {"network_proxy": {}},
            {"shell_snapshot": {}},
        ]
        for more in limits:
            with pytest.raises(RequestFailed) as caught:
                processes.start(shell("p", "true", **more))
            assert caught.value.error.code == -32602
        assert len(processes) == 0


async def test_a_sandbox_that_limits_nothing_needs_nothing() -> None:
    async with a_session() as (processes, client):
        started = processes.start(shell("p", "true", sandbox=Sandbox(Disabled(), "disabled")))
        assert started.sandbox_type is SandboxType.LINUX_SECCOMP
        await client.until("process/closed")
        assert not processes.terminate(TerminateProcess("p")).running
