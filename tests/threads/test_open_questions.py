"""Questions that wait for a person: answered once, or withdrawn."""

import asyncio

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.open_questions import OpenQuestions
from codex_mcp.threads.questions.decisions import Approved, Decision, Denied
from codex_mcp.threads.questions.questions import Method, Question
from tests.support.core.cores import Watcher
from tests.support.core.questions import COMMAND, ask

QUESTION = ask(Method.EXEC, COMMAND)


async def never(question: Question) -> Decision:
    await asyncio.Event().wait()
    return Approved()


async def test_the_audience_decides() -> None:
    questions, watcher = OpenQuestions(), Watcher()
    assert await questions.ask(0, QUESTION, watcher) == Approved()
    assert watcher.questions == [QUESTION]
    assert len(questions) == 0


async def test_a_question_that_is_withdrawn_has_no_answer() -> None:
    questions, watcher, tasks = OpenQuestions(), Watcher(never), TaskSet()
    asking = tasks.spawn(questions.ask(0, QUESTION, watcher), name="ask")
    other = tasks.spawn(questions.ask("0", QUESTION, watcher), name="ask")
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


async def test_an_audience_that_fails_is_a_no(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(question: Question) -> Decision:
        raise ValueError("the reason")

    assert await OpenQuestions().ask(0, QUESTION, Watcher(fail)) == Denied("the question could not be asked")
    assert "the reason" in caplog.text


async def test_who_asks_may_be_cancelled_and_nobody_is_bothered_any_longer() -> None:
    questions, tasks, over = OpenQuestions(), TaskSet(), asyncio.Event()

    async def decide(question: Question) -> Decision:
        try:
            return await never(question)
        finally:
            over.set()

    watcher = Watcher(decide)
    asking = tasks.spawn(questions.ask(0, QUESTION, watcher), name="ask")
    await watcher.changes.until(lambda: bool(watcher.questions))
    asking.cancel()
    await over.wait()
    assert len(questions) == 0
