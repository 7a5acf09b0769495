"""A turn as those who asked for it see it."""

import asyncio
from functools import partial

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import TurnSpec
from codex_mcp.codex.facts import ErrorReported, ItemEnded, MessageSaid, MessageStreamed, TurnEnded, TurnStarted
from codex_mcp.threads.record import Status
from codex_mcp.threads.turn import Turn
from tests.support.core.cores import Watcher
from tests.support.patience import PATIENCE


def turn() -> Turn:
    return Turn("t", TurnSpec("hello"), Watcher(), full_events=False)


async def test_it_runs_until_it_is_concluded_and_what_is_told_later_changes_nothing() -> None:
    one = turn()
    assert (one.ended, one.outcome.status) == (False, Status.RUNNING)
    one.record.add(MessageSaid("u", "Done."))
    one.record.add(TurnEnded("u", "completed", None))
    one.conclude()
    one.record.fail("too late")
    one.conclude()
    assert one.ended
    assert (one.outcome.status, one.outcome.content) == (Status.COMPLETED, "Done.")
    assert one.outcome == await one.wait()


async def test_one_who_watches_several_is_told_once_of_the_first_end() -> None:
    one, other = turn(), turn()
    watcher = asyncio.get_running_loop().create_future()
    one.watch(watcher)
    other.watch(watcher)
    one.conclude()
    assert watcher.done()
    other.conclude()
    late = asyncio.get_running_loop().create_future()
    other.watch(late)
    assert late.done()


async def test_everybody_who_waits_hears_of_the_end() -> None:
    one, tasks = turn(), TaskSet()
    waiting = [tasks.spawn(one.wait(), name="wait") for _ in range(3)]
    given_up = tasks.spawn(one.wait(), name="wait")
    await asyncio.sleep(0)
    given_up.cancel()
    one.record.interrupt()
    one.conclude()
    assert [(await task).status for task in waiting] == [Status.INTERRUPTED] * 3


async def test_who_does_not_want_to_wait_is_told_how_it_stands() -> None:
    one = turn()
    one.record.add(MessageSaid("u", "So far."))
    outcome = await one.wait(0)
    assert (outcome.status, outcome.content) == (Status.RUNNING, "So far.")


async def test_it_shows_its_thread_and_its_place() -> None:
    assert repr(turn()) == "<Turn of t: <QueuePlace waiting >>"


async def test_it_can_be_waited_for_until_its_thread_has_an_id_of_its_own() -> None:
    one, other = turn(), turn()
    one.thread_named("own")
    one.thread_named("own")
    other.conclude()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(one.until_named(), other.until_named())
    assert (one.thread_id, one.outcome.thread_id) == ("own", "own")


async def test_a_turn_is_given_up_once_its_model_was_out_of_reach_for_too_long() -> None:
    refused = ErrorReported("u", "Reconnecting...", will_retry=True, details="refused")
    given_up = asyncio.Event()
    wrongly: list[str] = []
    lucky, patient, over, unlucky = turn(), turn(), turn(), turn()
    for each in (lucky, patient, over):
        each.add(refused)
        each.limit_trouble(0.01 if each is not patient else 0, partial(wrongly.append, "early"))
    lucky.add(MessageStreamed("u", "i", "Hello"))
    lucky.limit_trouble(0.01, partial(wrongly.append, "late"))
    over.conclude()
    for seconds in (0.05, 1000):  # the time that was set first holds
        unlucky.add(refused)
        unlucky.limit_trouble(seconds, given_up.set)
    async with asyncio.timeout(PATIENCE):
        await given_up.wait()
    assert wrongly == []


async def test_its_prompt_is_in_the_conversation_when_its_first_item_is_or_never() -> None:
    begun, failed = turn(), turn()
    begun.add(TurnStarted("u"))
    begun.add(ItemEnded("u", "the prompt"))
    failed.add(TurnStarted("v"))
    failed.conclude()
    assert (await begun.until_started(), await failed.until_started()) == (True, False)
    begun.conclude()
    assert await begun.until_started() is True
