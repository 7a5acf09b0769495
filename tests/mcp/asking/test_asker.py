"""A question reaches the person at the client, or is put on the list of open questions, or is denied."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from codex_mcp.base.futures import Waiter, Waiters
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import TurnSpec
from codex_mcp.mcp.asking.asker import Asker
from codex_mcp.mcp.asking.ladder import Unattended
from codex_mcp.mcp.client import Client, Reach
from codex_mcp.team.closing import NoAudience
from codex_mcp.threads.open_questions import Board, OpenQuestions
from codex_mcp.threads.questions.board import Answer, Entry, Via
from codex_mcp.threads.questions.decisions import DISMISSED, NO_CAPABILITY, SESSION_GONE, Approved, Decision, Denied
from codex_mcp.threads.questions.questions import Method
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.jsonrpc import Id
from tests.support.clock import Clock, run_with_clock
from tests.support.core.questions import COMMAND, ask
from tests.support.rpc.memory_channel import memory_pair
from tests.support.servers.mcp_session import FarEnd, Json, plain_peer

QUESTION = ask(Method.EXEC, COMMAND)
CANCEL = {"action": "cancel"}


class Connections:
    """The connections of a client over HTTP, all of which can be cut."""

    def __init__(self) -> None:
        self._waiters = Waiters()

    def watch_unheard(self, about: Id, waiter: Waiter) -> None:
        assert about == 7
        self._waiters.add(waiter)

    def cut(self) -> None:
        self._waiters.tell()


@dataclass
class Scene:
    """A turn that asks, and the client at the far end that it asks."""

    client: Client
    far: FarEnd
    tasks: TaskSet
    turn: Turn
    timeout: float = 60
    lists: bool = False
    unattended: Unattended = field(default_factory=Unattended)
    board: Board = field(default_factory=Board)

    def asked(self) -> asyncio.Task[Decision | None]:
        """Codex asks; the task returns what was decided."""
        return self.tasks.spawn(self._decided(), name="question")

    async def _decided(self) -> Decision | None:
        asker = Asker(self.client, "ada", 7, self.turn, self.unattended, self.lists, self.timeout)
        question = replace(QUESTION, id=self.turn.next_question_id())
        entry = Entry(question=question, thread="t-1", principal="local", asked_at=0.0)
        receipt = await OpenQuestions(self.board).ask(0, entry, self.turn.parked, asker.ask)
        return receipt.decision

    def decide(self, key: str, decision: Decision) -> None:
        """Decide at the board."""
        self.board.decide(key, Answer(decision, "ada", Via.CODEX_APPROVALS))

    def answer(self, question: Json, result: object) -> None:
        self.far.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    async def is_not_asked(self) -> None:
        """Make sure that the client has heard nothing."""
        self.client.notify("marker", {})
        assert (await self.far.next())["method"] == "marker"

    async def listed(self) -> str:
        """Wait until the question is on the list; its key."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self.turn.parked.watch(waiter)
        await waiter
        (key,) = self.turn.parked.open
        return key


@contextlib.asynccontextmanager
async def scene(timeout: float = 60, *, lists: bool = False, reach: Reach | None = None) -> AsyncIterator[Scene]:
    ours, theirs = memory_pair()
    peer = plain_peer(ours)
    client = Client(peer, reach)
    client.introduce(None, {"elicitation": {}})
    tasks = TaskSet()
    tasks.spawn(peer.run(), name="client")
    turn = Turn("t-1", TurnSpec("hi"), NoAudience(), full_events=False)
    try:
        yield Scene(client, FarEnd(theirs), tasks, turn, timeout, lists)
    finally:
        await peer.aclose()
        await tasks.aclose()


async def test_a_yes_is_a_yes() -> None:
    async with scene() as at:
        decision = at.asked()
        question = await at.far.next()
        at.answer(question, {"action": "accept", "content": {}})
        assert await decision == Approved()
        assert question["method"] == "elicitation/create"
        assert question["params"]["codex_mcp_tool_call_id"] == "7"


async def test_an_error_is_a_no_with_its_reason() -> None:
    async with scene() as at:
        decision = at.asked()
        question = await at.far.next()
        at.far.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32603, "message": "no screen"}})
        assert await decision == Denied("the MCP client could not ask the user: no screen")


async def test_nobody_in_time_is_a_no_and_the_question_is_taken_back() -> None:
    async with scene(0.01) as at:
        decision = at.asked()
        question = await at.far.next()
        withdrawn = await at.far.next()
        assert await decision == Denied("no one answered within 0.01 seconds")
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "no answer in time"}


async def test_a_late_answer_changes_nothing_and_the_next_question_is_a_new_one() -> None:
    async with scene(0.01) as at:
        decision = at.asked()
        first = await at.far.next()
        await decision
        await at.far.next()
        at.answer(first, {"action": "accept"})
        again = at.asked()
        second = await at.far.next()
        assert second["id"] != first["id"]
        assert isinstance(await again, Denied)


async def test_without_any_time_nobody_is_asked() -> None:
    async with scene(0) as at:
        assert await at.asked() == Denied("no one answered within 0 seconds")
        await at.is_not_asked()


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": None}, {"elicitation": {"url": {}}}])
async def test_a_client_that_cannot_ask_is_not_asked(capabilities: dict[str, object]) -> None:
    async with scene() as at:
        at.client.introduce(None, capabilities)
        assert await at.asked() == Denied(NO_CAPABILITY)
        await at.is_not_asked()


async def test_a_question_that_is_withdrawn_is_taken_back_from_the_client() -> None:
    async with scene() as at:
        decision = at.asked()
        question = await at.far.next()
        decision.cancel()
        withdrawn = await at.far.next()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "the question is no longer open"}
        assert decision.cancelled()


async def test_a_client_that_goes_away_has_said_no() -> None:
    async with scene() as at:
        decision = at.asked()
        await at.far.next()
        await at.far.close()
        assert await decision == Denied(SESSION_GONE)
        assert await at.asked() == Denied(SESSION_GONE)


def test_an_answer_that_arrives_in_the_moment_when_the_time_is_up_counts() -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        async with scene() as at:
            decision = at.asked()
            question = await at.far.next()
            at.answer(question, {"action": "accept", "content": {}})
            clock.jump(60)
            assert await decision == Approved()
            await at.is_not_asked()


def test_a_decision_from_the_list_in_the_moment_when_the_time_is_up_counts() -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        connections = Connections()
        async with scene(lists=True, reach=connections) as at:
            decision = at.asked()
            await at.far.next()
            connections.cut()
            key = await at.listed()
            loop = asyncio.get_running_loop()
            loop.call_soon(at.decide, key, Approved())
            clock.jump(60)
            assert await decision == Approved()


def test_where_questions_are_not_listed_a_cancel_at_once_denies_like_any_other() -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        async with scene() as at:
            for _ in range(2):
                decision = at.asked()
                at.answer(await at.far.next(), CANCEL)
                assert await decision == Denied(DISMISSED)


def test_where_questions_are_listed_that_one_and_all_later_ones_are() -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        async with scene(lists=True) as at:
            decision = at.asked()
            at.answer(await at.far.next(), CANCEL)
            at.decide(await at.listed(), Approved())
            assert await decision == Approved()
            await clock.advance(60)
            later = at.asked()
            at.decide(await at.listed(), Denied("no"))
            assert await later == Denied("no")
            await at.is_not_asked()


@pytest.mark.parametrize("lists", [True, False])
def test_a_cancel_after_a_second_is_a_decision_and_the_next_question_is_asked(*, lists: bool) -> None:
    @run_with_clock
    async def _(clock: Clock) -> None:
        async with scene(lists=lists) as at:
            decision = at.asked()
            question = await at.far.next()
            await clock.advance(1)
            at.answer(question, CANCEL)
            assert await decision == Denied(DISMISSED)
            again = at.asked()
            at.answer(await at.far.next(), {"action": "accept"})
            assert await again == Approved()


async def test_a_question_that_is_listed_in_vain_is_denied_in_time() -> None:
    async with scene(0.01, lists=True) as at:
        at.client.introduce(None, {})
        assert await at.asked() == Denied("no one answered within 0.01 seconds")
        assert not at.turn.parked.open


async def test_a_client_that_is_gone_leaves_its_question_on_the_list() -> None:
    async with scene(lists=True) as at:
        decision = at.asked()
        await at.far.next()
        await at.far.close()
        at.decide(await at.listed(), Approved())
        assert await decision == Approved()


async def test_while_the_client_is_asked_the_question_is_not_listed_and_can_be_named() -> None:
    async with scene(lists=True) as at:
        decision = at.asked()
        question = await at.far.next()
        (entry,) = at.board.open_questions()
        assert (at.turn.parked.open, at.turn.parked.asked) == ({}, [entry.question])
        assert [(asked_of.client, asked_of.via) for asked_of in entry.asked_of] == [("", Via.ELICITATION)]
        at.answer(question, {"action": "decline"})
        assert await decision == Denied()
        assert at.turn.parked.asked == []


@pytest.mark.parametrize("who", ["client", "list"])
async def test_a_question_that_no_connection_reads_is_listed_as_well_and_the_first_answer_counts(who: str) -> None:
    connections = Connections()
    async with scene(lists=True, reach=connections) as at:
        decision = at.asked()
        question = await at.far.next()
        connections.cut()
        key = await at.listed()
        if who == "list":
            at.decide(key, Approved())
            assert (await at.far.next())["params"]["requestId"] == question["id"], "it is withdrawn"
            assert await decision == Approved()
        else:
            at.answer(question, {"action": "decline"})
            assert await decision == Denied()
        assert not at.turn.parked.open


async def test_where_questions_are_not_listed_a_cut_changes_nothing() -> None:
    connections = Connections()
    async with scene(reach=connections) as at:
        decision = at.asked()
        question = await at.far.next()
        connections.cut()
        at.answer(question, {"action": "accept"})
        assert await decision == Approved()
        assert not at.turn.parked.open


async def test_while_the_client_is_asked_the_board_can_decide_and_the_question_is_taken_back() -> None:
    async with scene(lists=True) as at:
        decision = at.asked()
        question = await at.far.next()
        (entry,) = at.board.open_questions()
        at.decide(entry.id, Approved())
        withdrawn = await at.far.next()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "the question is no longer open"}
        assert await decision == Approved()
        assert not at.turn.parked.asked
