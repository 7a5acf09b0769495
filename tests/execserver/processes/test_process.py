import asyncio
import os
import time

import pytest

from codex_mcp.execserver.processes import pacing
from codex_mcp.execserver.processes import process as module
from codex_mcp.execserver.processes.pacing import SETTLING_BYTES
from codex_mcp.execserver.processes.process import (
    CHUNK_BYTES,
    RETAINED_BYTES,
    Audience,
    Process,
    Sandboxing,
)
from codex_mcp.wire.exec.protocol import Chunk
from tests.support.exec.parts import RecordingTransport, shell
from tests.support.patience import PATIENCE


async def closed(process: Process) -> None:
    async with asyncio.timeout(PATIENCE):
        while process.log.closed is None:
            await process.wait_for_news(process.log.next_seq - 1, PATIENCE)


def text(process: Process) -> bytes:
    return b"".join(chunk.chunk for chunk in process.log.read(0, None).chunks)


async def test_events_are_sent_in_the_order_of_their_numbers() -> None:
    client = RecordingTransport()
    process = Process("p", shell("echo out; exit 3"), Audience(client.send))
    await closed(process)
    assert client.messages == [
        {"method": "process/output", "params": {"processId": "p", "seq": 1, "stream": "stdout", "chunk": "b3V0Cg=="}},
        {"method": "process/exited", "params": {"processId": "p", "seq": 2, "exitCode": 3, "sandboxDenied": False}},
        {"method": "process/closed", "params": {"processId": "p", "seq": 3}},
    ]


async def test_an_odd_name_is_quoted() -> None:
    client = RecordingTransport()
    process = Process('a"\n☃', shell("echo x"), Audience(client.send))
    await closed(process)
    assert {message["params"]["processId"] for message in client.messages} == {'a"\n☃'}  # type: ignore[index]


async def test_a_child_waits_while_nobody_is_there_and_nothing_is_lost() -> None:
    audience = Audience()
    size = 3 * RETAINED_BYTES
    process = Process("p", shell(f"head -c {size} /dev/zero"), audience)
    async with asyncio.timeout(PATIENCE):
        while process.log.has_room(CHUNK_BYTES):
            await process.wait_for_news(process.log.next_seq - 1, PATIENCE)
    assert process.is_running
    kept = process.log.read(0, None)
    assert kept.chunks[0].seq == 1

    client = RecordingTransport()
    audience.attach(client.send)
    process.audience_changed()
    assert client.messages == [], "a client that comes back reads first what it missed"
    process.was_read(kept.next_seq - 1)
    await closed(process)
    got = sum(len(chunk.chunk) for chunk in kept.chunks)
    seqs = [message["params"]["seq"] for message in client.messages]  # type: ignore[index]
    assert seqs == list(range(kept.next_seq, process.log.next_seq))
    for message in client.messages:
        params = message["params"]
        assert isinstance(params, dict)
        got += len(params.get("chunk", "")) * 3 // 4 - params.get("chunk", "").count("=")
    assert got == size


async def test_a_client_that_has_just_read_what_it_missed_is_not_flooded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLING", 3600.0)
    monkeypatch.setattr(pacing, "BUSY_PAUSE", 0.0)  # no rest, which would look the same
    audience = Audience()
    process = Process("p", shell("head -c 5000000 /dev/zero; exit 3"), audience)
    after, got = 0, 0
    async with asyncio.timeout(PATIENCE):
        for _ in range(2):  # it comes back, and is lost again
            while process.log.has_room(CHUNK_BYTES) and process.log.closed is None:
                await process.wait_for_news(process.log.next_seq - 1, PATIENCE)
            client = RecordingTransport()
            audience.attach(client.send)
            process.audience_changed()
            missed = process.log.read(after, None)
            process.was_read(missed.next_seq - 1)
            await client.until_true(lambda: not process.is_reading)
            sent = sizes(client)
            assert SETTLING_BYTES <= sum(sent) < SETTLING_BYTES + CHUNK_BYTES
            got += sum(len(chunk.chunk) for chunk in missed.chunks) + sum(sent)
            after = process.log.sent
            audience.detach()
            process.audience_changed()
        monkeypatch.setattr(module, "SETTLING", 0.001)
        client = RecordingTransport()
        audience.attach(client.send)
        process.audience_changed()
        missed = process.log.read(after, None)
        process.was_read(missed.next_seq - 1)
        await closed(process)
    got += sum(len(chunk.chunk) for chunk in missed.chunks) + sum(sizes(client))
    assert got == 5_000_000


def sizes(client: RecordingTransport) -> list[int]:
    """How many bytes each output event has."""
    chunks = [str(dict(message["params"]).get("chunk", "")) for message in client.messages]  # type: ignore[call-overload]
    return [len(chunk) * 3 // 4 - chunk.count("=") for chunk in chunks]


async def test_what_a_returned_client_does_not_read_is_sent_to_it() -> None:
    audience = Audience()
    process = Process("p", shell("echo missed"), audience)
    await closed(process)
    client = RecordingTransport()
    audience.attach(client.send)
    process.audience_changed()
    process.go_live()
    process.go_live()
    assert client.methods() == ["process/output", "process/exited", "process/closed"]


async def test_a_slow_client_slows_the_child_down() -> None:
    audience = Audience(RecordingTransport().send)
    audience.set_full(is_full=True)
    process = Process("p", shell("head -c 1000000 /dev/zero"), audience)
    await asyncio.sleep(0)
    assert process.log.next_seq == 1
    audience.set_full(is_full=False)
    process.audience_changed()
    await closed(process)
    assert len(text(process)) == 1_000_000


async def test_the_whole_group_is_killed_and_whoever_fled_is_not_waited_for() -> None:
    process = Process("p", shell("setsid sh -c 'echo $$; exec sleep 100' & sleep 100"), Audience())
    await process.wait_for_news(0, PATIENCE)
    assert process.terminate()
    await closed(process)
    assert process.log.exited is not None
    assert process.log.exited.exit_code == 137
    assert not process.terminate()
    os.kill(int(text(process)), 9)


async def test_a_child_that_left_others_behind_is_buried_when_they_are_gone() -> None:
    process = Process("p", shell("sleep 100 & exit 0"), Audience())
    async with asyncio.timeout(PATIENCE):
        while process.is_running:
            await process.wait_for_news(process.log.next_seq - 1, 0.1)
    assert process.log.closed is None
    assert not process.terminate()
    assert process.log.closed is not None


async def test_a_read_waits_for_news_but_not_for_ever() -> None:
    process = Process("p", shell("cat", pipe_stdin=True), Audience())
    before = time.monotonic()
    await process.wait_for_news(0, 0.01)
    assert time.monotonic() >= before + 0.01
    assert process.stdin is not None
    process.stdin.write(b"x")
    await process.wait_for_news(0, PATIENCE)
    assert process.log.read(0, None).chunks == [Chunk(1, process.log.read(0, None).chunks[0].stream, b"x")]
    process.stdin.end()
    await closed(process)


async def test_a_terminals_output_comes_in_large_pieces() -> None:
    process = Process("p", shell("head -c 300000 /dev/zero", tty=True), Audience(RecordingTransport().send))
    await closed(process)
    assert len(text(process)) == 300_000
    assert process.is_terminal


async def test_the_sandbox_is_suspected_when_a_confined_process_complains() -> None:
    for sandboxing in Sandboxing:
        process = Process("p", shell("echo Permission denied; exit 1"), Audience(), sandboxing)
        await closed(process)
        assert process.log.exited is not None
        assert process.log.exited.sandbox_denied == (sandboxing is not Sandboxing.NONE)
