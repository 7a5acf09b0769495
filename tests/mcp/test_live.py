"""Who reads along waits for what is new, and is never left waiting."""

import asyncio

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.live import LiveStream, dropped_marker
from codex_mcp.mcp.stream import Batch


def stream() -> LiveStream:
    return LiveStream("test", 4, 1000)


def texts(batch: Batch) -> list[bytes]:
    return [message.frame for message in batch.messages]


async def test_what_is_there_is_taken_at_once() -> None:
    live = stream()
    live.put(b"a")
    live.put(b"b")
    assert texts(await live.take(0)) == [b"a", b"b"]
    assert texts(await live.take(1)) == [b"b"]


async def test_a_reader_waits_for_the_next() -> None:
    live, tasks = stream(), TaskSet()
    taking = tasks.spawn(live.take(0), name="reader")
    await asyncio.sleep(0)
    assert not taking.done()
    live.put(b"a")
    assert texts(await taking) == [b"a"]


async def test_it_gets_nothing_when_its_patience_ends() -> None:
    assert texts(await stream().take(0, 0.01)) == []


async def test_it_gets_nothing_when_the_stream_has_ended() -> None:
    live, tasks = stream(), TaskSet()
    taking = tasks.spawn(live.take(0), name="reader")
    await asyncio.sleep(0)
    live.end()
    assert texts(await taking) == []
    assert texts(await live.take(0)) == []


async def test_a_final_message_is_the_last() -> None:
    live = stream()
    ended: list[int] = []
    live.on_end = lambda: ended.append(live.stream.last)
    live.put(b"answer", final=True)
    assert live.ended
    assert ended == [1]
    assert texts(await live.take(0)) == [b"answer"]
    assert texts(await live.take(1)) == []


async def test_a_poke_lets_a_reader_look_around() -> None:
    live, tasks = stream(), TaskSet()
    taking = tasks.spawn(live.take(0), name="reader")
    await asyncio.sleep(0)
    live.poke()
    assert texts(await taking) == []


async def test_a_new_reader_wakes_the_old_one_which_learns_that_it_is_replaced() -> None:
    live, tasks = stream(), TaskSet()
    is_replaced = live.new_reader()
    taking = tasks.spawn(live.take(0), name="old reader")
    await asyncio.sleep(0)
    assert not is_replaced()
    newer = live.new_reader()
    assert texts(await taking) == []
    assert is_replaced()
    assert not newer()


async def test_what_its_readers_missed_is_counted() -> None:
    live = stream()
    for number in range(10):
        live.put(bytes([number]))
    batch = await live.take(0)
    assert (batch.dropped, live.missed) == (6, 6)
    await live.take(batch.last, 0)
    assert live.missed == 6


def test_the_marker_says_how_many() -> None:
    assert msgspec.json.decode(dropped_marker(7)) == {
        "jsonrpc": "2.0",
        "method": "codex/dropped",
        "params": {"count": 7},
    }
