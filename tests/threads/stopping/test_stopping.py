"""A turn is made to stop: by its time limit, because its thread is closed, or while Codex hangs."""

import signal
from pathlib import Path

import pytest

from codex_mcp.codex.core import TurnSpec
from codex_mcp.threads.loading import UNLOADED
from codex_mcp.threads.observers import TurnListener
from codex_mcp.threads.questions.board import Receipt
from codex_mcp.threads.questions.questions import Method
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import CLOSED, QueueShut
from tests.support.core.app_events import heard
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.core.odd_codex import TESTED, odd_codex
from tests.support.core.questions import COMMAND, asked
from tests.threads.test_thread import GATE, end, open_thread, say, send_core, submit


class Listener(TurnListener):
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        assert not thread.idle or turn.place.state == "waiting"
        self.heard.append("submitted")

    def why_not(self, thread: Thread, turn: Turn) -> str:
        assert not turn.record.has_begun
        return ""

    def turn_begun_by_codex(self, thread: Thread) -> None:
        raise AssertionError

    def tokens_used(self, thread: Thread, tokens: int) -> None:
        raise AssertionError

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        assert turn.ended
        self.heard.append(f"{turn.outcome.status}, {'idle' if thread.idle else 'busy'}")

    def turn_left(self, thread: Thread) -> None:
        self.heard.append(f"left, {'idle' if thread.idle else 'busy'}")

    def question_decided(self, thread: Thread, turn: Turn, receipt: Receipt) -> None:
        self.heard.append(receipt.word)


async def test_a_turn_is_stopped_at_its_time_limit_with_what_it_said_so_far(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        turn = thread.submit(TurnSpec(GATE, time_limit=0.2), Watcher(), full_events=False)
        outcome = await end(turn)
        assert outcome.status is Status.FAILED
        assert outcome.content.startswith("the turn was stopped after 0.2 seconds, which is its time limit.")
        model.release("gate")
        assert (await end(submit(thread, say("usable again")))).content == "usable again"


async def test_a_stopped_turn_is_not_charged_with_the_tokens_of_the_turn_before(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        first = await end(submit(thread, say("one")))
        stopped = await end(thread.submit(TurnSpec(GATE, time_limit=0.2), Watcher(), full_events=False))
        model.release("gate")
        second = await end(submit(thread, say("two")))
        await thread.unload()
        third = await end(submit(thread, say("three")))  # resumed, which tells the total once more
        assert (first.usage and first.usage.total_tokens, stopped.usage) == (120, None)
        assert first.usage == second.usage == third.usage


async def test_a_turn_that_ends_in_time_hears_nothing_of_its_limit(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path)
        turn = thread.submit(TurnSpec(say("quick"), time_limit=1000), Watcher(), full_events=False)
        assert (await end(turn)).content == "quick"


async def test_a_shut_thread_answers_everybody_takes_a_last_turn_and_can_be_opened_again(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        running, waiting = submit(thread, GATE), submit(thread, say("never"))
        await model.wait_for_gate("gate")
        thread.shut()
        assert (await end(waiting)).content == CLOSED
        assert (await end(running)).status is Status.INTERRUPTED
        with pytest.raises(QueueShut):
            submit(thread, say("no"))
        last = thread.submit(TurnSpec(say("last words")), Watcher(), full_events=False, last=True)
        assert (await end(last)).content == "last words"
        thread.open()
        assert (await end(submit(thread, say("again")))).content == "again"


async def test_who_listens_hears_of_every_turn_once(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        threads.listen(listener := Listener())
        thread = await open_thread(threads, tmp_path)
        first, second = submit(thread, GATE), submit(thread, say("two"))
        await model.wait_for_gate("gate")
        model.release("gate")
        await end(first)
        await end(second)
    assert listener.heard == ["submitted", "submitted", "completed, busy", "completed, idle"]


async def test_a_preface_reaches_the_model_before_the_prompt(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        await end(thread.submit(TurnSpec(say("ok"), preface="a note first"), Watcher(), full_events=False))
        said = str(model.requests[-1])
    assert "a note first" in said
    assert said.index("a note first") < said.index("scene: say")


async def test_a_turn_whose_thread_codex_puts_away_has_failed_and_does_not_hang(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        await threads.unload(thread)  # nothing happens: it is busy
        assert not turn.ended
        thread.notification_received(*heard("thread/closed", threadId=thread.id))
        assert (await end(turn)).content == UNLOADED
        model.release("gate")


async def test_who_takes_back_a_turn_that_codex_does_not_begin_is_told_so_and_the_next_one_waits_for_codex(
    tmp_path: Path,
) -> None:
    async with scripted_threads(tmp_path, interrupt_grace=0.1) as (threads, _model):
        threads.listen(listener := Listener())
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, say("one")))
        send_core(threads, signal.SIGSTOP)
        late, following = Watcher(), Watcher()
        turn, behind = submit(thread, GATE, late), submit(thread, say("next"), following)
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        thread.cancel(turn)
        assert (thread.current, thread.unfinished(), thread.waiting, thread.idle) == (turn, [behind], 1, False)
        assert turn in thread.uncollected()
        readable = asked(Method.EXEC, COMMAND, threadId=thread.id)
        assert await thread.question_received(1, readable) == {"decision": "decline"}
        send_core(threads, signal.SIGCONT)
        assert (await end(behind)).content == "next"
        await thread.until_idle()
        assert (await end(submit(thread, say("and on")))).content == "and on"
    assert turn.place.turn_id not in ("", behind.place.turn_id)
    assert "turn_aborted" in late.kinds
    assert "turn_aborted" not in following.kinds
    assert late.questions == []
    assert threads.counts.turns == {Status.COMPLETED: 3, Status.INTERRUPTED: 1}
    assert listener.heard == [
        *("submitted", "completed, idle"),
        *("submitted", "submitted", "interrupted, busy", "left, busy", "completed, idle"),
        *("submitted", "completed, idle"),
    ]


async def test_a_turn_taken_back_while_codex_hangs_in_loading_its_thread_never_begins(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, interrupt_grace=0.1) as (threads, model):
        threads.listen(listener := Listener())
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, say("one")))
        await thread.unload()
        send_core(threads, signal.SIGSTOP)
        turn = submit(thread, say("never"))
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        send_core(threads, signal.SIGCONT)
        await thread.until_idle()
        assert (turn.place.turn_id, len(model.requests)) == ("", 1)
        assert (await end(submit(thread, say("two")))).content == "two"
    assert listener.heard[2:5] == ["submitted", "interrupted, busy", "left, idle"]


async def test_a_codex_that_dies_while_it_hangs_ends_what_waits_behind_a_turn_that_was_given_up(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, interrupt_grace=0.1) as (threads, _model):
        thread = await open_thread(threads, tmp_path)
        send_core(threads, signal.SIGSTOP)
        turn, behind = submit(thread, say("never")), submit(thread, say("never either"))
        thread.cancel(turn)
        told = await end(turn)
        send_core(threads, signal.SIGKILL)
        assert (await end(behind)).status is Status.FAILED
        assert thread.idle
        assert (turn.outcome, turn.outcome.status) == (told, Status.INTERRUPTED)


async def test_who_does_not_wait_for_the_end_is_answered_at_once_and_codex_stops_the_turn_all_the_same(
    tmp_path: Path,
) -> None:
    async with scripted_threads(tmp_path, interrupt_grace=0.0) as (threads, _model):
        thread, watcher = await open_thread(threads, tmp_path), Watcher()
        turn = submit(thread, GATE, watcher)
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        await thread.until_idle()
        assert "turn_aborted" in watcher.kinds
        assert (await end(submit(thread, say("next")))).content == "next"


async def test_a_turn_ends_with_its_interrupt_even_if_codex_never_answers_that(tmp_path: Path) -> None:
    odd = odd_codex(tmp_path / "bin", "answers no interrupt", version=TESTED)
    async with scripted_threads(tmp_path, codex_version=str(odd), interrupt_grace=1000) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        assert (await end(submit(thread, say("and on")))).content == "and on"
