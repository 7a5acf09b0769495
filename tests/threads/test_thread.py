"""One conversation with the real Codex: its turns one after the other, stopped, lost and resumed."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.threads.questions.decisions import Aborted, Approved, Decision, Denied
from codex_mcp.threads.questions.questions import Method, Question
from codex_mcp.threads.record import Outcome, Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import OUTCOMES_KEPT, Turn
from codex_mcp.threads.turn_queue import QueueFull
from codex_mcp.wire.app.requests import BaseBranch
from tests.support.core.app_events import heard
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.core.questions import COMMAND, asked
from tests.support.patience import PATIENCE

GATE = "[[scene: gate]]"
ESCALATE = '[[scene: escalate cmd="touch made.txt"]]'


def say(text: str) -> str:
    return f'[[scene: say text="{text}"]]'


def submit(thread: Thread, prompt: str, watcher: Watcher | None = None) -> Turn:
    return thread.submit(TurnSpec(prompt), watcher or Watcher(), full_events=False)


async def end(turn: Turn) -> Outcome:
    outcome = await turn.wait(PATIENCE)
    assert turn.ended, turn
    return outcome


async def open_thread(threads: Threads, folder: Path, **spec: object) -> Thread:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return await threads.start(ThreadSpec(cwd=str(work), **spec))  # type: ignore[arg-type]  # the test knows the types


def send_core(threads: Threads, number: signal.Signals) -> None:
    pid = threads.supervisor.pid
    assert pid is not None
    os.kill(pid, number)


def is_alive(pid: int) -> bool:
    """Whether it runs; a dead one that its parent has not buried yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


async def death(pid: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while is_alive(pid):  # noqa: ASYNC110  its death tells nobody
            await asyncio.sleep(0.01)


async def test_a_turn_is_answered_and_its_audience_sees_it_happen(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread, watcher = await open_thread(threads, tmp_path), Watcher()
        turn = submit(thread, say("Hello."), watcher)
        assert (thread.idle, thread.current, thread.newest, thread.unfinished()) == (False, turn, turn, [turn])
        outcome = await end(turn)
        assert (thread.idle, thread.unfinished(), thread.uncollected()) == (True, [], [turn])
        turn.mark_delivered()
        assert thread.uncollected() == []
    assert (outcome.status, outcome.content, outcome.thread_id) == (Status.COMPLETED, "Hello.", thread.id)
    assert outcome.usage is not None
    assert outcome.usage.total_tokens == 120
    assert watcher.kinds[0] == "session_configured"
    assert watcher.kinds[-1] == "task_complete"
    assert watcher.events[-1].turn_id == turn.place.turn_id
    assert "thinking" in watcher.activities


async def test_turns_of_one_thread_run_one_after_the_other_in_their_order(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, max_turns_waiting=2) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        watchers = [Watcher() for _ in range(3)]
        turns = [submit(thread, GATE, watchers[0])]
        turns += [
            submit(thread, say(text), watcher) for text, watcher in zip(["two", "three"], watchers[1:], strict=True)
        ]
        with pytest.raises(QueueFull):
            submit(thread, say("four"))
        await model.wait_for_gate("gate")
        assert turns[1].outcome.activity == "waiting for an earlier turn"
        assert "2 waiting" in repr(thread)
        model.release("gate")
        outcomes = [await end(turn) for turn in turns]
    assert [outcome.content for outcome in outcomes] == ["The gate is open.", "two", "three"]
    assert [watcher.kinds.count("task_complete") for watcher in watchers] == [1, 1, 1]


async def test_a_turn_that_waits_is_taken_back_at_once_and_nobody_else_is_touched(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        first, second, third = submit(thread, GATE), submit(thread, say("never")), submit(thread, say("three"))
        thread.cancel(second)
        thread.cancel(second)
        assert (second.ended, second.outcome.status) == (True, Status.INTERRUPTED)
        await model.wait_for_gate("gate")
        model.release("gate")
        assert [(await end(turn)).content for turn in (first, third)] == ["The gate is open.", "three"]


async def test_a_turn_may_be_taken_back_in_the_breath_in_which_it_was_asked_for(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path)
        turn = submit(thread, "[[scene: silence]]")
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        assert (await end(submit(thread, say("next")))).content == "next"


async def test_a_turn_that_runs_is_stopped_and_the_next_one_begins(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        running, waiting = submit(thread, GATE), submit(thread, say("next"))
        await model.wait_for_gate("gate")
        thread.cancel(running)
        thread.cancel(running)
        assert (await end(running)).status is Status.INTERRUPTED
        assert (await end(waiting)).content == "next"
        thread.cancel(running)


async def test_everything_of_a_thread_can_be_stopped_at_once(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        turns = [submit(thread, GATE), submit(thread, say("never")), submit(thread, say("never"))]
        await model.wait_for_gate("gate")
        thread.cancel_all()
        assert [(await end(turn)).status for turn in turns] == [Status.INTERRUPTED] * 3
        assert len(model.requests) == 1


async def running_command(thread: Thread, watcher: Watcher, pid: Path) -> int:
    """Begin a turn whose command never ends; return its process id."""
    submit(thread, '[[scene: run cmd="echo $$ > pid; exec sleep 1000"]]', watcher)
    await watcher.saw_activity("running")
    while not (pid.exists() and pid.read_text().strip()):  # noqa: ASYNC110, ASYNC240  the command tells nobody else
        await asyncio.sleep(0.01)
    return int(pid.read_text())  # noqa: ASYNC240


async def test_the_command_of_a_turn_that_is_stopped_dies_with_it(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread, watcher = await open_thread(threads, tmp_path, sandbox="danger-full-access"), Watcher()
        pid = await running_command(thread, watcher, tmp_path / "work" / "pid")
        turn = thread.current
        assert turn is not None
        thread.cancel(turn)
        outcome = await end(turn)
        await death(pid)  # Codex says that it was killed some milliseconds before it is dead
    assert outcome.status is Status.INTERRUPTED


async def test_who_does_not_want_to_wait_for_the_end_is_answered_at_once_and_the_command_dies_all_the_same(
    tmp_path: Path,
) -> None:
    async with scripted_threads(tmp_path, interrupt_grace=0.0) as (threads, _model):
        thread, watcher = await open_thread(threads, tmp_path, sandbox="danger-full-access"), Watcher()
        pid = await running_command(thread, watcher, tmp_path / "work" / "pid")
        turn = thread.current
        assert turn is not None
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        await death(pid)


async def test_a_core_that_is_frozen_holds_up_no_one_who_stops_a_turn(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, interrupt_grace=0.2) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        send_core(threads, signal.SIGSTOP)
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        send_core(threads, signal.SIGKILL)


async def test_a_killed_core_ends_the_turns_of_all_threads_and_both_go_on_with_the_next(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        both = [await open_thread(threads, tmp_path), await open_thread(threads, tmp_path)]
        running = [submit(thread, GATE) for thread in both]
        behind = submit(both[0], say("never"))
        await model.wait_for_gate("gate", 2)
        send_core(threads, signal.SIGKILL)
        outcomes = [await end(turn) for turn in (*running, behind)]
        assert {outcome.status for outcome in outcomes} == {Status.FAILED}
        assert all("Codex ended unexpectedly (signal SIGKILL)" in outcome.content for outcome in outcomes)
        next_turns = [submit(thread, say("back")) for thread in both]
        assert [(await end(turn)).content for turn in next_turns] == ["back", "back"]
        assert threads.supervisor.starts == 2
        assert b"[[scene: gate]]" in model.requests[-1].body  # it remembers the turn that was lost


async def test_a_turn_asked_for_while_the_dead_core_is_buried_runs_in_the_next_one(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, say("one")))
        send_core(threads, signal.SIGKILL)
        while threads.supervisor.pid is not None:  # noqa: ASYNC110  nobody is told before the burial
            await asyncio.sleep(0)
        assert (await end(submit(thread, say("two")))).content == "two"


async def test_a_turn_whose_thread_was_said_to_be_closed_still_ends_with_its_core(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        turn = submit(thread, GATE)
        await model.wait_for_gate("gate")
        thread.notification_received(*heard("thread/closed", threadId=thread.id))
        send_core(threads, signal.SIGKILL)
        assert (await end(turn)).status is Status.FAILED


async def test_a_thread_that_was_put_away_comes_back_with_its_memory(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, say("remember this")))
        await thread.unload()
        await thread.unload()
        assert (await end(submit(thread, say("back")))).content == "back"
        assert b"remember this" in model.requests[-1].body


async def test_a_turn_that_the_model_fails_says_why(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path)
        outcome = await end(submit(thread, '[[scene: fail status=400 message="the script says so"]]'))
    assert outcome.status is Status.FAILED
    assert "the script says so" in outcome.content


async def test_a_turn_that_cannot_be_started_says_why_and_the_next_one_is_tried(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, say("one")))
        await threads.supervisor.stop()
        turns = [submit(thread, say("two")), submit(thread, say("three"))]
        outcomes = [await end(turn) for turn in turns]
        taken_back = submit(thread, say("four"))
        thread.cancel(taken_back)
        assert (await end(taken_back)).status is Status.INTERRUPTED
    assert [outcome.content for outcome in outcomes] == ["the server is shutting down"] * 2


async def test_closing_answers_everybody_also_one_whose_stop_has_not_begun(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        both = [await open_thread(threads, tmp_path), await open_thread(threads, tmp_path)]
        running = [submit(thread, GATE) for thread in both]
        waiting = submit(both[0], say("never"))
        await model.wait_for_gate("gate", 2)
        both[0].cancel(running[0])
        await both[0].aclose()
        await both[1].aclose()
        outcomes = [await end(turn) for turn in (*running, waiting)]
    contents = [outcome.content for outcome in outcomes]
    assert contents[2] == "the server has stopped"
    assert {*contents[:2]} <= {"Waiting.", "the server has stopped"}  # what Codex has passed on of the answer by then


async def test_outcomes_that_were_given_to_nobody_are_kept_longest(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        running = submit(thread, GATE)
        await model.wait_for_gate("gate")
        turns = []
        for number in range(2 * OUTCOMES_KEPT):
            turn = submit(thread, say("never"))
            thread.cancel(turn)
            turn.delivered = number >= 2
            turns.append(turn)
        assert thread.uncollected() == turns[:2]
        for turn in turns:
            turn.delivered = False
        for _ in range(OUTCOMES_KEPT):
            thread.cancel(submit(thread, say("never")))
        assert len(thread.uncollected()) == OUTCOMES_KEPT
        thread.cancel(running)
        await end(running)


async def approving(decision: Decision) -> Decision:
    return decision


@pytest.mark.parametrize(
    ("decision", "status", "content", "made"),
    [
        (Approved(), Status.COMPLETED, "It ran.", True),
        (Denied("not on a Sunday"), Status.COMPLETED, "It was refused.", False),
        (Aborted(), Status.INTERRUPTED, "", False),
    ],
)
async def test_a_question_is_answered_as_its_audience_decides(
    tmp_path: Path, decision: Decision, status: Status, content: str, *, made: bool
) -> None:
    watcher = Watcher(lambda question: approving(decision))
    async with scripted_threads(tmp_path) as (threads, model):
        thread = await open_thread(threads, tmp_path, approval_policy="on-request", sandbox="read-only")
        outcome = await end(submit(thread, ESCALATE, watcher))
        told = model.requests[-1].body
    assert (outcome.status, outcome.content) == (status, content)
    assert (tmp_path / "work" / "made.txt").exists() is made
    assert len(watcher.questions) == 1
    assert (b"not on a Sunday" in told) is isinstance(decision, Denied)


class Undecided(Watcher):
    """Cannot decide, until the question is taken back."""

    def __init__(self) -> None:
        super().__init__(self.think)
        self.taken_back = asyncio.Event()

    async def think(self, question: Question) -> Decision:
        try:
            await asyncio.Event().wait()
        finally:
            self.taken_back.set()
        return Approved()


async def test_a_question_is_withdrawn_when_its_turn_is_stopped(tmp_path: Path) -> None:
    watcher = Undecided()
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path, approval_policy="on-request", sandbox="read-only")
        turn = submit(thread, ESCALATE, watcher)
        await watcher.changes.until(lambda: bool(watcher.questions))
        thread.cancel(turn)
        assert (await end(turn)).status is Status.INTERRUPTED
        assert (await end(submit(thread, say("next")))).content == "next"
        assert watcher.taken_back.is_set()


async def test_a_question_is_withdrawn_when_its_core_dies(tmp_path: Path) -> None:
    watcher = Undecided()
    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path, approval_policy="on-request", sandbox="read-only")
        turn = submit(thread, ESCALATE, watcher)
        await watcher.changes.until(lambda: bool(watcher.questions))
        send_core(threads, signal.SIGKILL)
        assert (await end(turn)).status is Status.FAILED
        assert watcher.taken_back.is_set()


async def test_a_question_outside_of_a_turn_or_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread, watcher = await open_thread(threads, tmp_path), Watcher()
        readable = asked(Method.EXEC, COMMAND, threadId=thread.id)
        assert await thread.question_received(1, readable) == {"decision": "decline"}
        turn = submit(thread, GATE, watcher)
        await model.wait_for_gate("gate")
        assert await thread.question_received(2, asked(Method.EXEC, COMMAND, turnId=5)) == {"decision": "decline"}
        assert await thread.question_received(3, readable) == {"decision": "accept"}
        model.release("gate")
        await end(turn)
    assert len(watcher.questions) == 1


async def test_news_of_a_turn_that_has_ended_go_to_its_own_audience(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        thread, first, second = await open_thread(threads, tmp_path), Watcher(), Watcher()
        past = submit(thread, say("one"), first)
        await end(past)
        current = submit(thread, GATE, second)
        await model.wait_for_gate("gate")
        item = {"type": "agentMessage", "id": "i", "text": "late"}
        thread.notification_received(*heard("item/completed", turnId=past.place.turn_id, item=item))
        ended = {"id": past.place.turn_id, "status": "failed"}
        thread.notification_received(*heard("turn/completed", turn=ended))
        assert not current.ended
        assert "late" in [event.msg.get("message") for event in first.events]
        assert "late" not in [event.msg.get("message") for event in second.events]
        model.release("gate")
        assert (await end(current)).content == "The gate is open."
        assert past.outcome.content == "one"


async def test_a_review_that_codex_refuses_to_begin_has_failed(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, _):
        thread = await open_thread(threads, tmp_path)
        outcome = await end(thread.submit(TurnSpec(review=BaseBranch("main")), Watcher(), full_events=False))
        assert (outcome.status, thread.idle) == (Status.FAILED, True)
        assert outcome.content == f'"{thread.cwd}" is not a git repository'
