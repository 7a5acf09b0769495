"""Threads go on with their turns when the server is another one, on the same core."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.codex.launch import launcher, outliving
from codex_mcp.codex.surviving.terms import Survival
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.threads.left.rejoining import Rejoining
from codex_mcp.threads.left.turns import LeftTurn, LeftTurns
from codex_mcp.threads.questions.board import Answer, Via
from codex_mcp.threads.questions.decisions import Approved, Decision, Denied
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from tests.support.core.cores import Changes, Watcher, environment_below, no_pace, settings_below
from tests.support.core.surviving import GRACE, end_guards
from tests.support.mail.folders import until
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR
from tests.threads.test_thread import ESCALATE, GATE, end, open_thread, say, submit

EACH = 120
"""Tokens of one answer of the scripted model."""


class Notebook:
    """What a server has written of its turns, in the order in which they came."""

    def __init__(self) -> None:
        self.left = LeftTurns(())
        self.changes = Changes()

    async def sending(self, thread: Thread, turn: Turn) -> None:
        """It is written, and Codex has its prompt in a moment."""
        note = LeftTurn(turn.name, turn.spec, turn.place.source, is_sent=True)
        self.left = LeftTurns((note,), thread.meter.total)
        self.changes.tell()


class World:
    """Servers of one state folder, one after the other."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.folder = folder
        self.model = model
        self.notes = Notebook()
        self._settings = settings_below(folder, overrides=tuple(model.codex_overrides()))

    def server(self) -> Threads:
        """The next one."""
        core = self._settings.core
        survival = Survival(str(self.folder / "state"), GRACE)
        launch = outliving(launcher(core, environment_below(self.folder)), survival, core.codex_home)
        threads = Threads(core, self._settings.calls, launch, no_pace)
        threads.keep_journal(self.notes)
        return threads

    async def gone(self, threads: Threads) -> None:
        """This server has ended, and does nothing more. Its core goes on."""
        await threads.supervisor.stop(leave=True)
        await threads.aclose()
        end_guards()

    async def following(self, thread_id: str, left: LeftTurns | None = None) -> tuple[Threads, Thread]:
        """The next server, with the thread."""
        threads = self.server()
        spec = ThreadSpec(cwd=str(self.folder / "work"))
        async with asyncio.timeout(PATIENCE):
            return threads, await Rejoining(threads, PATIENCE).rejoin(thread_id, "local", spec, left or self.notes.left)


@contextlib.asynccontextmanager
async def a_world(folder: Path) -> AsyncIterator[World]:
    """With a model. The last server ends its core."""
    async with ScriptedModel(load_script(TOUR)) as model:
        yield World(folder, model)


@contextlib.asynccontextmanager
async def closing(threads: Threads) -> AsyncIterator[None]:
    try:
        yield
    finally:
        async with asyncio.timeout(PATIENCE):
            await threads.aclose()


async def a_thread(world: World) -> tuple[Threads, Thread]:
    threads = world.server()
    thread = await open_thread(threads, world.folder)
    assert (await end(submit(thread, say("first")))).content == "first"
    return threads, thread


def the_turn(thread: Thread, world: World) -> Turn:
    """The one that was left, under its own name."""
    turn = thread.turn_named(world.notes.left.turns[0].name)
    assert turn is not None
    return turn


async def test_a_turn_that_runs_ends_at_the_next_server_with_its_answer_and_tokens(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        first, thread = await a_thread(world)
        submit(thread, GATE)
        await world.model.wait_for_gate("gate")
        await world.gone(first)
        second, thread = await world.following(thread.id)
        async with closing(second):
            turn = the_turn(thread, world)
            assert (turn.ended, thread.current) == (False, turn)
            world.model.release("gate")
            outcome = await end(turn)
            assert (outcome.status, outcome.content) == (Status.COMPLETED, "The gate is open.")
            assert outcome.usage is not None
            assert outcome.usage.total_tokens == EACH
            following = await end(submit(thread, say("the next")))
            assert (following.content, following.usage) == ("the next", outcome.usage)


async def test_a_turn_that_has_ended_meanwhile_is_told_with_its_answer_and_tokens(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        first, thread = await a_thread(world)
        submit(thread, GATE)
        await world.model.wait_for_gate("gate")
        await world.gone(first)
        world.model.release("gate")
        assert thread.opened.rollout_path is not None
        written = Path(thread.opened.rollout_path)
        await until(lambda: written.read_text().count("task_complete") == 2)
        second, thread = await world.following(thread.id)
        async with closing(second):
            turn = the_turn(thread, world)
            assert (turn.ended, thread.idle) == (True, True)
            outcome = await end(turn)
            assert (outcome.status, outcome.content) == (Status.COMPLETED, "The gate is open.")
            assert outcome.usage is not None
            assert outcome.usage.total_tokens == EACH


@pytest.mark.parametrize(("decision", "made"), [(Approved(), True), (Denied(), False)], ids=["approved", "denied"])
async def test_what_was_asked_is_asked_again_and_answered_once(
    tmp_path: Path,
    decision: Decision,
    made: bool,  # noqa: FBT001
) -> None:
    async with a_world(tmp_path) as world:
        first, thread = await a_thread(world)
        never = asyncio.Event()

        async def undecided(_: Question) -> Decision:
            await never.wait()
            return Denied()

        watcher = Watcher(undecided)
        submit(thread, ESCALATE, watcher)
        await watcher.changes.until(lambda: bool(watcher.questions))
        await world.gone(first)
        second, thread = await world.following(thread.id)
        async with closing(second):
            turn = the_turn(thread, world)
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            turn.parked.watch(waiter)
            async with asyncio.timeout(PATIENCE):
                await waiter
            (question_id,) = turn.parked.open
            second.board.decide(question_id, Answer(decision, "me", Via.ELICITATION))
            outcome = await end(turn)
            assert outcome.status is Status.COMPLETED
            assert outcome.usage is not None
            assert outcome.usage.total_tokens == 2 * EACH
            assert (tmp_path / "work" / "made.txt").exists() is made


async def test_a_prompt_that_was_written_and_never_sent_is_sent_once_and_the_ones_behind_it_follow(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        first, thread = await a_thread(world)
        await world.gone(first)
        notes = [
            LeftTurn("a", TurnSpec(say("sent?")), is_sent=True),
            LeftTurn("b", TurnSpec(say("waited"))),
            LeftTurn("c", TurnSpec(say("waited longer"))),
        ]
        before = len(world.model.requests)
        second, thread = await world.following(thread.id, LeftTurns(tuple(notes), world.notes.left.total))
        async with closing(second):
            said = []
            for note in notes:
                turn = thread.turn_named(note.name)
                assert turn is not None
                said.append((await end(turn)).content)
            assert said == ["sent?", "waited", "waited longer"]
            assert len(world.model.requests) - before == len(notes)
