"""Who reads along waits for what is new, and is never left waiting."""

import asyncio

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.streams.backlog import LAG
from codex_mcp.transports.streams.live_stream import BATCH_BYTES, Delivery, LiveStream, dropped_marker
from codex_mcp.transports.streams.message_ring import Batch
from tests.support.clock import Clock, run_with_clock


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
    live.when_ended(lambda: ended.append(live.ring.last))
    live.put(b"answer", final=True)
    assert live.ended
    assert ended == [1]
    assert texts(await live.take(0)) == [b"answer"]
    assert texts(await live.take(1)) == []


async def test_a_poke_lets_a_reader_look_around() -> None:
    live, tasks = stream(), TaskSet()
    taking = tasks.spawn(live.take(0), name="reader")
    await asyncio.sleep(0)
    live.wake()
    assert texts(await taking) == []


async def test_a_new_reader_wakes_the_old_one_which_learns_that_it_is_replaced() -> None:
    live, tasks = stream(), TaskSet()
    is_replaced = live.take_over()
    taking = tasks.spawn(live.take(0), name="old reader")
    await asyncio.sleep(0)
    assert not is_replaced()
    newer = live.take_over()
    assert texts(await taking) == []
    assert is_replaced()
    assert not newer()


def test_a_reader_that_took_nothing_for_a_while_misses_messages_and_they_are_counted() -> None:
    async def test(clock: Clock) -> None:
        delivery = Delivery()
        live = LiveStream("test", 4, 1000, delivery=delivery)
        live.add_reader()
        for number in range(10):
            live.put(bytes([number]))
        assert len((await live.take(0)).messages) == 10
        assert delivery.missed == 0
        await clock.advance(LAG + 1)
        live.put(b"beyond the limit")
        assert delivery.missed == 7
        batch = await live.take(0)
        assert (len(batch.messages), batch.dropped) == (4, 7)
        live.put(b"it reads again")
        assert delivery.missed == 7

    run_with_clock(test)


def test_a_reader_that_waits_for_more_has_never_taken_nothing_for_too_long() -> None:
    async def test(clock: Clock) -> None:
        live, tasks = LiveStream("test", 4, 1000), TaskSet()
        live.add_reader()
        taking = tasks.spawn(live.take(0), name="reader")
        await clock.advance(LAG + 1)
        for number in range(10):
            live.put(bytes([number]))
        assert len((await taking).messages) == 10

    run_with_clock(test)


async def test_what_is_dropped_while_nobody_reads_is_missed_by_whoever_comes_later() -> None:
    delivery = Delivery()
    live = LiveStream("test", 4, 1000, delivery=delivery)
    for number in range(10):
        live.put(bytes([number]))
    assert delivery.missed == 0
    live.continue_after(2)
    assert delivery.missed == 4
    assert (await live.take(2)).dropped == 4


async def test_a_long_backlog_is_taken_in_pieces() -> None:
    live = LiveStream("test", 100, 10 * BATCH_BYTES)
    for _ in range(5):
        live.put(b"x" * (BATCH_BYTES // 2))
    sizes, number = [], 0
    while number < live.ring.last:
        batch = await live.take(number)
        sizes.append(len(batch.messages))
        number = batch.last
    assert sizes == [2, 2, 1]


def test_the_marker_says_how_many() -> None:
    assert msgspec.json.decode(dropped_marker(7)) == {
        "jsonrpc": "2.0",
        "method": "codex/dropped",
        "params": {"count": 7},
    }
