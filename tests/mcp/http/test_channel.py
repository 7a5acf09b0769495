"""Every message goes to all listeners on the bus, and to one stream of `/mcp`."""

import asyncio

import msgspec
import pytest

from codex_mcp.base.futures import Waiter
from codex_mcp.base.settings.kinds import SlowReader
from codex_mcp.mcp.http.channel import ENDED_STREAMS, INBOX, ChannelLimits, HttpChannel, InboxFull, Reading
from codex_mcp.rpc.channel import FrameKind
from codex_mcp.transports.streams.live_stream import LiveStream
from codex_mcp.transports.streams.message_ring import MOST_VITAL
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, NO_PARAMS, Id, Notification, Request

NOTE = Notification("note", NO_PARAMS)


def request(request_id: Id) -> Request:
    return Request(request_id, "work", NO_PARAMS)


def expected(channel: HttpChannel, request_id: Id) -> LiveStream:
    stream = channel.expect(request_id)
    assert stream is not None
    return stream


def texts(stream: LiveStream) -> list[bytes]:
    return [message.frame for message in stream.ring.after(0).messages]


async def test_what_is_about_a_request_goes_to_its_stream_alone() -> None:
    channel = HttpChannel("id")
    one, two = expected(channel, 1), expected(channel, 2)
    channel.send(b"event", 1)
    channel.send(b"question", 2, FrameKind.REQUEST)
    channel.send(b"answer", 1, FrameKind.ANSWER)
    assert texts(one) == [b"event", b"answer"]
    assert texts(two) == [b"question"]
    assert texts(channel.standing) == []
    assert (one.ended, two.ended) == (True, False)


async def test_what_is_about_nothing_or_comes_after_the_answer_goes_to_the_standing_stream() -> None:
    channel = HttpChannel("id")
    expected(channel, 1)
    channel.send(b"general")
    channel.send(b"answer", 1, FrameKind.ANSWER)
    channel.send(b"late", 1)
    channel.send(b"of another life", 7)
    assert texts(channel.standing) == [b"general", b"late", b"of another life"]


async def test_an_answer_that_nobody_waits_for_goes_to_the_bus_alone() -> None:
    channel = HttpChannel("id")
    subscriber = channel.subscribe()
    channel.send(b"answer", 1, FrameKind.ANSWER)
    assert texts(channel.standing) == []
    assert texts(subscriber) == [b"answer"]


async def test_a_post_that_takes_the_answer_alone_leaves_the_rest_to_the_standing_stream() -> None:
    channel = HttpChannel("id")
    stream = channel.expect(1, answer_only=True)
    assert stream is not None
    channel.send(b"event", 1)
    channel.send(b"question", 1, FrameKind.REQUEST)
    channel.send(b"answer", 1, FrameKind.ANSWER)
    assert texts(stream) == [b"answer"]
    assert texts(channel.standing) == [b"event", b"question"]


async def test_everybody_on_the_bus_gets_every_message() -> None:
    channel = HttpChannel("id")
    early = channel.subscribe()
    expected(channel, 1)
    channel.send(b"event", 1)
    late = channel.subscribe()
    channel.send(b"answer", 1, FrameKind.ANSWER)
    channel.unsubscribe(early)
    channel.send(b"general")
    assert texts(early) == [b"event", b"answer"]
    assert texts(late) == [b"answer", b"general"]


async def test_an_id_is_free_again_when_its_request_is_answered_or_forgotten() -> None:
    channel = HttpChannel("id")
    expected(channel, 1)
    assert channel.expect(1) is None
    assert channel.expect("1") is not None, "a text is not a number"
    channel.send(b"answer", 1, FrameKind.ANSWER)
    expected(channel, 1)
    channel.forget(1)
    expected(channel, 1)


async def test_a_stream_is_found_by_name_also_after_its_end() -> None:
    channel = HttpChannel("id")
    stream = expected(channel, 1)
    assert channel.find_stream(stream.name) is stream
    channel.send(b"answer", 1, FrameKind.ANSWER)
    assert channel.find_stream(stream.name) is stream
    assert channel.find_stream(channel.standing.name) is channel.standing
    assert channel.find_stream("p999") is None


async def test_only_the_last_streams_that_ended_are_kept() -> None:
    channel = HttpChannel("id")
    names = [expected(channel, number).name for number in range(ENDED_STREAMS + 1)]
    for number in range(ENDED_STREAMS + 1):
        channel.send(b"answer", number, FrameKind.ANSWER)
    assert [name for name in names if channel.find_stream(name) is None] == names[:1]


async def test_an_answer_that_went_out_whole_is_not_kept() -> None:
    channel = HttpChannel("id")
    stream = expected(channel, 1)
    channel.taken_whole(stream)
    assert channel.find_stream(stream.name) is stream, "it is still to be answered"
    channel.send(b"answer", 1, FrameKind.ANSWER)
    channel.taken_whole(stream)
    assert channel.find_stream(stream.name) is None


async def test_no_stream_has_the_name_of_one_of_an_earlier_process() -> None:
    before, after = HttpChannel("id"), HttpChannel("id")
    names = {before.standing.name, expected(before, 1).name}
    assert names.isdisjoint({after.standing.name, expected(after, 1).name})


async def test_what_the_client_sends_arrives_in_order() -> None:
    channel = HttpChannel("id")
    channel.deliver(NOTE)
    channel.deliver(request(1))
    assert await channel.receive() == [NOTE, request(1)]


async def test_a_full_inbox_takes_no_more_until_somebody_looks() -> None:
    channel = HttpChannel("id")
    for _ in range(INBOX):
        channel.deliver(NOTE)
    assert channel.waiting == INBOX
    with pytest.raises(InboxFull):
        channel.deliver(NOTE)
    assert len(await channel.receive()) == INBOX
    channel.deliver(NOTE)


async def test_the_end_ends_every_stream_and_twice_is_fine() -> None:
    channel = HttpChannel("id")
    subscriber = channel.subscribe()
    await channel.aclose()
    await channel.aclose()
    assert channel.standing.ended
    assert subscriber.ended
    assert channel.subscribe().ended, "who comes late does not wait for ever"
    assert await channel.receive() == []


async def test_at_the_end_a_request_that_nobody_looked_at_is_answered() -> None:
    channel = HttpChannel("id")
    stream = expected(channel, "x")
    channel.deliver(request("x"))
    await channel.aclose()
    (frame,) = texts(stream)
    answer = msgspec.json.decode(frame)
    assert (answer["id"], answer["error"]["code"]) == ("x", INTERNAL_ERROR)
    assert stream.ended


async def test_it_is_full_inbox_or_not_that_the_end_is_heard() -> None:
    channel = HttpChannel("id")
    for _ in range(INBOX):
        channel.deliver(NOTE)
    await channel.aclose()
    assert await channel.receive() == []


async def test_it_is_busy_while_somebody_reads_or_waits() -> None:
    channel = HttpChannel("id")
    busy = [channel.busy]
    expected(channel, 1)
    busy.append(channel.busy)
    channel.send(b"answer", 1, FrameKind.ANSWER)
    busy.append(channel.busy)
    subscriber = channel.subscribe()
    busy.append(channel.busy)
    channel.unsubscribe(subscriber)
    busy.append(channel.busy)
    channel.readers += 1
    busy.append(channel.busy)
    assert busy == [False, True, False, True, False, True]


async def test_what_slow_readers_missed_is_counted_also_after_they_went() -> None:
    channel = HttpChannel("id", ChannelLimits(most_bytes=100))
    subscriber = channel.subscribe()
    for _ in range(15):
        channel.send(b"ten bytes.")
    assert channel.dropped == 5
    channel.unsubscribe(subscriber)
    assert channel.dropped == 5


async def test_a_listener_that_is_too_slow_gets_what_there_is_and_is_counted_when_it_goes() -> None:
    channel = HttpChannel("id", ChannelLimits(most_bytes=2, slow_reader=SlowReader.DISCONNECT))
    slow, quick = channel.subscribe(), channel.subscribe()
    for text in (b"a", b"b", b"c", b"d"):
        channel.send(text)
        quick.ring.read(quick.ring.last)
    assert (slow.ended, quick.ended) == (True, False)
    assert texts(slow) == [b"a", b"b", b"c"]
    for subscriber in (slow, quick):
        channel.unsubscribe(subscriber)
    assert channel.cut_off == 1


async def test_the_inbox_is_as_long_as_the_settings_say() -> None:
    channel = HttpChannel("id", ChannelLimits(inbox=2))
    for _ in range(2):
        channel.deliver(NOTE)
    with pytest.raises(InboxFull):
        channel.deliver(NOTE)


async def test_questions_that_nobody_ever_came_for_do_not_fill_the_memory() -> None:
    channel = HttpChannel("id")
    first = channel.standing
    for _ in range(MOST_VITAL + 1):
        channel.send(b"question", kind=FrameKind.REQUEST)
    channel.send(b"the next", kind=FrameKind.REQUEST)
    assert first.ended
    assert texts(channel.standing) == [b"the next"]
    assert channel.standing.name != first.name


async def test_an_answer_that_no_connection_is_there_to_read_is_told() -> None:
    unread = list[Id]()
    channel = HttpChannel("id", reading=Reading(unread.append))
    channel.reader_came(expected(channel, 1))
    expected(channel, 2)
    for request_id in (1, 2, "by socket"):
        channel.send(b"event", request_id)
        channel.send(b"answer", request_id, FrameKind.ANSWER)
    assert unread == [2, "by socket"]
    channel.subscribe()
    channel.send(b"answer", "by socket", FrameKind.ANSWER)
    assert unread == [2, "by socket"]


async def test_a_question_is_unheard_once_the_last_connection_that_could_read_it_is_gone() -> None:
    channel = HttpChannel("id")
    stream, subscriber = expected(channel, 1), channel.subscribe()
    channel.reader_came(stream)
    one: Waiter = asyncio.get_running_loop().create_future()
    channel.watch_unheard(1, one)
    channel.reader_left(stream)
    assert not one.done()
    channel.unsubscribe(subscriber)
    assert one.done()
    two: Waiter = asyncio.get_running_loop().create_future()
    channel.reader_came(channel.standing)
    channel.watch_unheard(2, two)
    assert not two.done(), "what is about no open request is said on the standing stream"
    channel.watch_unheard(1, three := asyncio.get_running_loop().create_future())
    assert three.done()
