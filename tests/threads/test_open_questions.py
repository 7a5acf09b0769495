"""Questions that wait for a decision: answered once, withdrawn, or listed for a client."""

import asyncio
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from codex_mcp.base.futures import Waiter
from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.open_questions import Ask, Board, OpenQuestions, ParkedQuestions
from codex_mcp.threads.questions.board import Answer, Changed, Entry, Receipt, State, Verdict, Via, expired
from codex_mcp.threads.questions.decisions import Approved, Decision, Denied
from codex_mcp.threads.questions.questions import Method, Question
from tests.support.core.cores import Watcher
from tests.support.core.questions import COMMAND, ask

TURN: Any = None
QUESTION = ask(Method.EXEC, COMMAND)
ADA = Answer(Approved(), "ada", Via.TERMINAL)
BOB = Answer(Denied("no"), "bob", Via.PAGE)


class Scene:
    """The questions of a turn, on a board of their own."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.board = Board(lambda: self.now)
        self.questions = OpenQuestions(self.board)
        self.parked = ParkedQuestions()
        self.tasks = TaskSet()
        self.count = 0

    def ask(self, ask: Ask, request_id: int | str = 0) -> asyncio.Task[Receipt]:
        self.count += 1
        question = replace(QUESTION, id=f"turn/question-{self.count}")
        entry = Entry(question=question, thread="t", principal="local", asked_at=self.now)
        return self.tasks.spawn(self.questions.ask(request_id, entry, self.parked, ask), name="ask")

    async def parks(self) -> asyncio.Task[Receipt]:
        """A question that is listed."""
        task = self.ask(self.parked.park)
        await self.settle()
        return task

    async def settle(self) -> None:
        """Let every task run until it waits."""
        for _ in range(5):
            await asyncio.sleep(0)

    async def end(self) -> None:
        await self.tasks.aclose()
        await self.settle()

    def states(self) -> list[State]:
        found = [self.board.find(f"turn/question-{number}") for number in range(1, self.count + 1)]
        return [entry.state for entry in found if entry is not None]


async def never(question: Question, turn: object = None) -> Decision:
    await asyncio.Event().wait()
    return Approved()


async def test_the_audience_decides() -> None:
    at, watcher = Scene(), Watcher()
    receipt = await at.ask(partial(watcher.ask, turn=TURN))
    assert (receipt.decision, receipt.by, receipt.via) == (Approved(), "watcher", Via.ELICITATION)
    assert [question.id for question in watcher.questions] == ["turn/question-1"]
    assert (len(at.questions), at.states()) == (0, [State.DECIDED])


async def test_a_question_that_is_withdrawn_has_no_answer() -> None:
    at, watcher = Scene(), Watcher(never)
    asking = at.ask(partial(watcher.ask, turn=TURN), 0)
    other = at.ask(partial(watcher.ask, turn=TURN), "0")
    await watcher.changes.until(lambda: len(watcher.questions) == 2)
    assert len(at.questions) == 2
    at.questions.withdraw(0)
    at.questions.withdraw(0)
    at.questions.withdraw("unknown")
    assert (await asking).decision is None
    assert not other.done()
    at.questions.withdraw("0")
    assert (await other).state is State.WITHDRAWN
    assert len(at.questions) == 0


async def test_an_audience_that_fails_denies(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(question: Question) -> Decision:
        raise ValueError("the reason")

    receipt = await Scene().ask(partial(Watcher(fail).ask, turn=TURN))
    assert receipt.decision == Denied("the question could not be asked")
    assert "the reason" in caplog.text


async def test_a_question_whose_core_ends_is_lost_and_not_asked_any_more() -> None:
    at, over = Scene(), asyncio.Event()

    async def decide(question: Question) -> Decision:
        try:
            return await never(question)
        finally:
            over.set()

    watcher = Watcher(decide)
    asking = at.ask(partial(watcher.ask, turn=TURN))
    await watcher.changes.until(lambda: bool(watcher.questions))
    asking.cancel()
    await over.wait()
    assert (len(at.questions), at.states()) == (0, [State.LOST])


async def test_nobody_in_time_is_not_a_denial() -> None:
    at = Scene()

    async def out_of_time(question: Question) -> Answer:
        return expired(600)

    receipt = await at.ask(out_of_time)
    assert (receipt.state, receipt.via, receipt.word) == (State.EXPIRED, Via.TIMEOUT, "expired")
    assert receipt.decision == Denied("no one answered within 600 seconds"), "Codex is told a denial"


async def test_a_question_is_listed_until_it_is_answered() -> None:
    at, heard = Scene(), list[int]()
    at.parked.on_change(lambda: heard.append(len(at.parked.open)))
    waiting = await at.parks()
    assert list(at.parked.open) == ["turn/question-1"]
    at.board.decide("turn/question-1", ADA)
    assert at.parked.open == {}, "at once"
    assert (await waiting).decision == Approved()
    assert heard == [1, 0]


async def test_what_is_listed_in_a_turn_is_listed_in_the_next_one_until_it_is_answered() -> None:
    at, heard, following = Scene(), list[int](), ParkedQuestions()
    waiting = await at.parks()
    news: Waiter = asyncio.get_running_loop().create_future()
    following.watch(news)
    following.on_change(lambda: heard.append(len(following.open)))
    following.take_over(at.parked)
    assert (news.done(), list(following.open)) == (True, ["turn/question-1"])
    at.board.decide("turn/question-1", ADA)
    assert (following.open, heard) == ({}, [1, 0])
    assert (await waiting).decision == Approved()


async def test_the_first_answer_counts_and_the_other_is_told_by_whom() -> None:
    at = Scene()
    waiting = await at.parks()
    at.now = 10.0
    first = at.board.decide("turn/question-1", BOB)
    at.now = 13.0
    second = at.board.decide("turn/question-1", ADA)
    assert isinstance(first, Verdict)
    assert (first.used, first.state, first.decision, first.by, first.at) == (True, State.DECIDED, "denied", "bob", 10.0)
    assert isinstance(second, Verdict)
    assert (second.used, second.decision, second.by, second.at) == (False, "denied", "bob", 10.0)
    assert second.sentence == ("It was answered (denied) by bob 3 s ago (via page). This answer was not used.")
    assert (await waiting).decision == Denied("no")


async def test_an_answer_that_is_sent_again_gets_the_same_verdict() -> None:
    at = Scene()
    await at.parks()
    first = at.board.decide("turn/question-1", ADA, key="k")
    assert at.board.decide("turn/question-1", ADA, key="k") == first
    other = at.board.decide("turn/question-1", ADA, key="another")
    stranger = at.board.decide("turn/question-1", BOB, key="k")
    assert [isinstance(each, Verdict) and each.used for each in (first, other, stranger)] == [True, False, False]
    await at.end()


async def test_an_answer_to_something_else_than_what_is_asked_leaves_it_open() -> None:
    at = Scene()
    await at.parks()
    (entry,) = at.board.open_questions()
    assert at.board.decide(entry.id, ADA, digest="of something else") == Changed(entry.digest)
    assert at.states() == [State.OPEN]
    at.board.decide(entry.id, ADA, digest=entry.digest)
    assert at.states() == [State.DECIDED]
    await at.end()


async def test_an_answer_to_nothing_changes_nothing() -> None:
    verdict = Board().decide("turn/question-1", ADA)
    assert verdict == Verdict(used=False, state=None, sentence="No question turn/question-1 is known here.")


async def test_while_a_client_is_asked_the_board_says_which() -> None:
    at = Scene()

    async def asks(question: Question) -> Answer:
        with at.parked.asking(question, "claude-code"):
            await asyncio.Event().wait()
        return ADA

    at.ask(asks)
    await at.settle()
    (entry,) = at.board.open_questions()
    assert [(each.client, each.via) for each in entry.asked_of] == [("claude-code", Via.ELICITATION)]
    assert at.parked.asked == [entry.question]
    at.board.decide(entry.id, ADA)
    assert at.parked.asked == []
    found = at.board.find(entry.id)
    assert found is not None
    assert found.asked_of == ()
    await at.end()


async def test_a_listener_is_told_of_what_is_opened_and_closed_until_it_stops() -> None:
    at, told = Scene(), list[tuple[str, State]]()
    stop = at.board.watch(lambda entry: told.append((entry.id, entry.state)))
    await at.parks()
    at.board.decide("turn/question-1", ADA)
    stop()
    stop()
    await at.parks()
    assert told == [("turn/question-1", State.OPEN), ("turn/question-1", State.DECIDED)]
    await at.end()


async def test_a_listener_is_told_at_once_whom_a_question_is_being_asked_of() -> None:
    at, told = Scene(), list[Entry]()
    at.board.watch(told.append)

    async def asks(question: Question) -> Answer:
        with at.parked.asking(question, "claude-code"):
            return await at.parked.park(question)

    at.ask(asks)
    await at.settle()
    assert [each.client for entry in told for each in entry.asked_of] == ["claude-code"]
    await at.end()
    assert [entry.state for entry in told] == [State.OPEN, State.LOST]


async def test_several_questions_are_told_apart() -> None:
    at = Scene()
    one, two = await at.parks(), await at.parks()
    at.board.decide("turn/question-2", ADA)
    assert (await two).decision == Approved()
    assert list(at.parked.open) == ["turn/question-1"]
    at.board.decide("turn/question-1", BOB)
    assert (await one).decision == Denied("no")


async def test_a_waiter_is_told_of_the_next_question() -> None:
    at = Scene()
    waiting, given_up = watching(at.parked), watching(at.parked)
    given_up.cancel()
    assert not waiting.done()
    question = await at.parks()
    assert waiting.done()
    assert watching(at.parked).done(), "one is open already"
    at.board.decide("turn/question-1", ADA)
    await question
    assert not watching(at.parked).done()


def watching(questions: ParkedQuestions) -> Waiter:
    waiter: Waiter = asyncio.get_running_loop().create_future()
    questions.watch(waiter)
    return waiter
