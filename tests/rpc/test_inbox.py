import asyncio

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.inbox import MESSAGE_COST, Inbox


def ignore() -> None:
    """Nothing is held back here."""


async def test_all_that_has_come_is_taken_at_once_and_in_order() -> None:
    inbox = Inbox(100, ignore, ignore)
    inbox.add([b"a"])
    inbox.add([b"b", b"c"])
    assert await inbox.take() == [b"a", b"b", b"c"]


async def test_a_reader_waits_for_a_message_and_then_for_the_end() -> None:
    inbox = Inbox(100, ignore, ignore)
    tasks = TaskSet()
    taking = tasks.spawn(inbox.take(), name="taking")
    await asyncio.sleep(0)
    inbox.add([])
    await asyncio.sleep(0)
    assert not taking.done(), "nothing has come"
    inbox.add([b"a"])
    assert await taking == [b"a"]
    taking = tasks.spawn(inbox.take(), name="taking")
    await asyncio.sleep(0)
    inbox.end()
    assert await taking == []


async def test_what_came_before_the_end_is_taken() -> None:
    inbox = Inbox(100, ignore, ignore)
    inbox.add([b"a"])
    inbox.end()
    assert await inbox.take() == [b"a"]
    assert await inbox.take() == []


async def test_the_sender_is_told_when_it_is_full_and_when_everything_was_taken() -> None:
    told: list[str] = []
    inbox = Inbox(2 + MESSAGE_COST, lambda: told.append("full"), lambda: told.append("room"))
    inbox.add([b"ab"])
    assert told == []
    inbox.add([b""])
    inbox.add([b"d"])
    assert told == ["full"], "a message without a byte takes memory too"
    await inbox.take()
    assert told == ["full", "room"]
