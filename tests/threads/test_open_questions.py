"""Questions that wait for a decision: answered once, withdrawn, or listed for a client."""

import asyncio
from functools import partial
from typing import Any

import pytest

from codex_mcp.base.futures import Waiter
from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.open_questions import OpenQuestions, ParkedQuestions
from codex_mcp.threads.questions.decisions import Approved, Decision, Denied
from codex_mcp.threads.questions.questions import Method, Question
from tests.support.core.cores import Watcher
from tests.support.core.questions import COMMAND, ask

TURN: Any = None
QUESTION = ask(Method.EXEC, COMMAND)


async def never(question: Question, turn: object = None) -> Decision:
    await asyncio.Event().wait()
    return Approved()


async def test_the_audience_decides() -> None:
    questions, watcher = OpenQuestions(), Watcher()
    assert await questions.ask(0, QUESTION, partial(watcher.ask, turn=TURN)) == Approved()
    assert watcher.questions == [QUESTION]
    assert len(questions) == 0


async def test_a_question_that_is_withdrawn_has_no_answer() -> None:
    questions, watcher, tasks = OpenQuestions(), Watcher(never), TaskSet()
    asking = tasks.spawn(questions.ask(0, QUESTION, partial(watcher.ask, turn=TURN)), name="ask")
    other = tasks.spawn(questions.ask("0", QUESTION, partial(watcher.ask, turn=TURN)), name="ask")
    await watcher.changes.until(lambda: len(watcher.questions) == 2)
    assert len(questions) == 2
    questions.withdraw(0)
    questions.withdraw(0)
    questions.withdraw("unknown")
    assert await asking is None
    assert not other.done()
    questions.withdraw("0")
    assert await other is None
    assert len(questions) == 0


async def test_an_audience_that_fails_denies(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(question: Question) -> Decision:
        raise ValueError("the reason")

    decision = await OpenQuestions().ask(0, QUESTION, partial(Watcher(fail).ask, turn=TURN))
    assert decision == Denied("the question could not be asked")
    assert "the reason" in caplog.text


async def test_cancelling_the_question_cancels_the_asking() -> None:
    questions, tasks, over = OpenQuestions(), TaskSet(), asyncio.Event()

    async def decide(question: Question) -> Decision:
        try:
            return await never(question)
        finally:
            over.set()

    watcher = Watcher(decide)
    asking = tasks.spawn(questions.ask(0, QUESTION, partial(watcher.ask, turn=TURN)), name="ask")
    await watcher.changes.until(lambda: bool(watcher.questions))
    asking.cancel()
    await over.wait()
    assert len(questions) == 0


async def parked(questions: ParkedQuestions, tasks: TaskSet) -> asyncio.Task[Decision]:
    task = tasks.spawn(questions.park(QUESTION, asyncio.timeout(None)), name="question")
    await asyncio.sleep(0)
    return task


async def test_a_question_is_open_until_it_is_answered() -> None:
    questions, tasks = ParkedQuestions(), TaskSet()
    heard: list[int] = []
    questions.on_change(lambda: heard.append(len(questions.open)))
    waiting = await parked(questions, tasks)
    assert questions.open == {"question-1": QUESTION}
    questions.answer("question-1", Approved())
    assert questions.open == {}
    assert await waiting == Approved()
    assert heard == [1, 0]


async def test_only_the_first_answer_counts() -> None:
    questions, tasks = ParkedQuestions(), TaskSet()
    waiting = await parked(questions, tasks)
    questions.answer("question-1", Denied("first"))
    questions.answer("question-1", Approved())
    assert await waiting == Denied("first")
    questions.answer("question-1", Approved())


async def test_a_decision_in_the_moment_when_the_time_is_up_counts() -> None:
    """Whoever decided was told that the decision counts."""
    loop, questions = asyncio.get_running_loop(), ParkedQuestions()
    async with asyncio.timeout(None) as limit:

        def decide() -> None:
            limit.reschedule(loop.time() - 1)
            questions.answer("question-1", Approved())

        loop.call_soon(decide)
        assert await questions.park(QUESTION, limit) == Approved()
    assert limit.expired()


async def test_an_answer_to_nothing_changes_nothing() -> None:
    ParkedQuestions().answer("question-1", Approved())


async def test_several_questions_are_told_apart() -> None:
    questions, tasks = ParkedQuestions(), TaskSet()
    one, two = await parked(questions, tasks), await parked(questions, tasks)
    assert list(questions.open) == ["question-1", "question-2"]
    questions.answer("question-2", Approved())
    assert await two == Approved()
    assert list(questions.open) == ["question-1"]
    questions.answer_all(Denied("over"))
    assert await one == Denied("over")


async def test_a_question_that_is_withdrawn_is_not_open_any_more_and_its_key_is_not_used_again() -> None:
    questions, tasks = ParkedQuestions(), TaskSet()
    withdrawn = await parked(questions, tasks)
    withdrawn.cancel()
    await asyncio.wait([withdrawn])
    assert questions.open == {}
    again = await parked(questions, tasks)
    assert list(questions.open) == ["question-2"]
    questions.answer_all(Approved())
    await again


async def test_a_waiter_is_told_of_the_next_question() -> None:
    questions, tasks = ParkedQuestions(), TaskSet()
    waiting, given_up = watching(questions), watching(questions)
    given_up.cancel()
    assert not waiting.done()
    question = await parked(questions, tasks)
    assert waiting.done()
    assert watching(questions).done(), "one is open already"
    questions.answer("question-1", Approved())
    await question
    assert not watching(questions).done()


def watching(questions: ParkedQuestions) -> Waiter:
    waiter: Waiter = asyncio.get_running_loop().create_future()
    questions.watch(waiter)
    return waiter
