"""A question waits until its client comes for it, and is decided once."""

import asyncio

from codex_mcp.base.futures import Waiter
from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.parked_questions import ParkedQuestions
from codex_mcp.threads.questions.decisions import Approved, Decision, Denied
from codex_mcp.threads.questions.questions import Method
from tests.support.core.questions import COMMAND, ask

QUESTION = ask(Method.EXEC, COMMAND)


async def parked(questions: ParkedQuestions, tasks: TaskSet) -> asyncio.Task[Decision]:
    task = tasks.spawn(questions.park(QUESTION), name="question")
    await asyncio.sleep(0)
    return task


async def test_a_question_is_open_until_it_is_answered() -> None:
    questions, tasks = ParkedQuestions(), TaskSet()
    heard: list[int] = []
    questions.changed = lambda: heard.append(len(questions.open))
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


async def test_who_waits_for_a_question_is_told_of_the_next() -> None:
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
