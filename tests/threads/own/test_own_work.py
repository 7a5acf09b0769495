"""Goals, and turns that Codex begins by itself, in one thread of the real Codex."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from msgspec import Raw

from codex_mcp.base.errors import Refused
from codex_mcp.codex.conversation.goals import GoalRead
from codex_mcp.codex.conversation.recorded_turns import list_recorded_turns
from codex_mcp.codex.core import CoreError, GoalOrder, ThreadSpec, TurnSpec
from codex_mcp.threads.observers import TurnListener
from codex_mcp.threads.questions.board import Receipt
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Source, TurnQueueState
from tests.support.core.cores import Changes, Watcher, scripted_threads
from tests.support.core.odd_codex import TESTED, odd_codex
from tests.support.team.own_turns import FENCES, OWN_TURNS, requests_of
from tests.threads.test_thread import end, open_thread, submit

REASON = "the limit is reached"


class Limits(TurnListener):
    """Allows turns as the test says, and writes down what it hears."""

    def __init__(self) -> None:
        self.spare = 1_000_000
        """Tokens that may still be used."""
        self.begun = 0
        self.late = 0
        self.left = 0
        self.turns: list[Turn] = []
        self.ended: list[Turn] = []
        self.changes = Changes()

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        self.turns.append(turn)

    def why_not(self, thread: Thread, turn: Turn) -> str:
        return "" if self.spare > 0 else REASON

    def why_no_more(self, thread: Thread, ahead: int) -> str:
        return "" if self.spare > ahead else REASON

    def turn_begun_by_codex(self, thread: Thread) -> None:
        self.begun += 1
        self.changes.tell()

    def tokens_used(self, thread: Thread, tokens: int) -> None:
        self.late += tokens

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        self.ended.append(turn)
        self.changes.tell()

    def turn_left(self, thread: Thread) -> None:
        self.left += 1
        self.changes.tell()

    def question_decided(self, thread: Thread, turn: Turn, receipt: Receipt) -> None:
        raise AssertionError


async def begin_by_itself(thread: Thread, text: str) -> None:
    """Let Codex begin a turn that nobody here asks for, as another client of the thread can."""
    assert thread.loading.core is not None
    item = {"type": "text", "text": text}
    params = {"threadId": thread.id, "clientUserMessageId": "other", "input": [item]}
    await thread.loading.core.request("thread/queue/add", params, Raw)


async def test_an_unknown_turn_is_shown_and_counted_like_any_other(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, _):
        limits = Limits()
        threads.listen(limits)
        thread = await open_thread(threads, tmp_path)
        watcher = Watcher()
        await end(thread.submit(TurnSpec("hello"), watcher, full_events=False))
        before = len(watcher.events)
        await begin_by_itself(thread, "hello")
        await limits.changes.until(lambda: len(limits.ended) == 2)
        turn = limits.ended[-1]
        assert (turn.place.source, turn.outcome.status, turn.outcome.content) == (Source.CODEX, "completed", "Hello.")
        assert turn.outcome.usage is not None
        assert turn.outcome.usage.total_tokens == 120
        assert (limits.begun, limits.late, thread.idle) == (1, 0, True)
        assert len(watcher.events) > before


async def test_an_unknown_turn_is_stopped_at_its_beginning_if_a_limit_is_reached(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, _):
        limits = Limits()
        threads.listen(limits)
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, "hello"))
        limits.spare = 0
        await begin_by_itself(thread, "[[scene: goes_on]]")
        await limits.changes.until(lambda: len(limits.ended) == 2)
        assert (limits.ended[-1].outcome.status, limits.ended[-1].outcome.content) == (Status.FAILED, REASON)
        assert limits.begun == 0


async def test_whatever_begins_after_a_stop_is_stopped_until_the_next_prompt(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, _):
        limits = Limits()
        threads.listen(limits)
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, "hello"))
        await thread.own.quiesce()
        await begin_by_itself(thread, "[[scene: goes_on]]")
        await limits.changes.until(lambda: limits.left == 1)
        assert (len(limits.ended), limits.begun, thread.is_quiet) == (1, 0, True)
        assert (await end(submit(thread, "hello"))).content == "Hello."
        await begin_by_itself(thread, "hello")
        await limits.changes.until(lambda: len(limits.ended) == 3)
        assert limits.ended[-1].outcome.content == "Hello."


async def test_a_goal_that_is_set_during_a_stop_goes_on_after_it(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, model):
        thread, other = await open_thread(threads, tmp_path), await open_thread(threads, tmp_path)
        await end(submit(thread, "hello"))
        thread.own.unasked.begin_stop()
        turn = thread.submit(TurnSpec("hello", goal=GoalOrder("all green")), Watcher(), full_events=False)
        await end(submit(other, "hello"))
        assert not turn.ended
        thread.own.unasked.end_stop()
        await end(turn)
        await model.wait_for_gate("goal")
        goal = thread.own.unasked.goal(thread.id)
        assert goal is not None
        assert (goal.objective, goal.status) == ("all green", "active")
        await thread.own.quiesce()


async def test_what_codex_goes_on_with_is_for_the_caller_of_the_prompt_if_named_later_too(
    tmp_path: Path,
) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        prompted = submit(thread, "set a goal")
        await model.wait_for_gate("goal")
        assert thread.newest is not None
        assert thread.newest.place.source is Source.CODEX
        prompted.attribute_to("somebody")
        assert thread.newest.is_for("somebody")
        await thread.own.quiesce()


async def test_a_thread_is_unloaded_after_the_goal_that_is_being_set(tmp_path: Path) -> None:
    slow = odd_codex(tmp_path / "bin", "sets goals late", version=TESTED)
    async with scripted_threads(tmp_path, script=OWN_TURNS, codex_version=str(slow)) as (threads, model):
        thread, other = await open_thread(threads, tmp_path), await open_thread(threads, tmp_path)
        watcher = Watcher()
        thread.submit(TurnSpec("hello", goal=GoalOrder("all green")), watcher, full_events=False)
        await watcher.saw("task_complete")

        async def let_it_be_set() -> None:
            (tmp_path / "home/now").touch()

        await asyncio.gather(thread.unload(), let_it_be_set())
        await end(submit(other, "hello"))  # the model has seen by now that the request of the goal was given up
        before = requests_of(model, thread.id)
        model.release("goal")
        for _ in range(FENCES):
            await end(submit(other, "hello"))
        assert requests_of(model, thread.id) == before


async def test_a_goal_near_a_limit_goes_on_one_turn_at_a_time(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, model):
        limits = Limits()
        threads.listen(limits)
        thread = await open_thread(threads, tmp_path)
        assert thread.loading.core is not None

        async def status() -> str:
            assert thread.loading.core is not None
            read = await thread.loading.core.request("thread/goal/get", {"threadId": thread.id}, GoalRead)
            return "" if read.goal is None else read.goal.status

        await end(submit(thread, "set a goal"))
        await model.wait_for_gate("goal")
        assert await status() == "active"
        limits.spare = 200  # fewer than two requests use
        model.release("goal")
        await limits.changes.until(lambda: limits.begun >= 2)
        model.shut("goal")
        await model.wait_for_gate("goal")
        goal = thread.own.unasked.goal(thread.id)
        assert goal is not None
        assert (goal.status, await status()) == ("active", "paused")
        begun, limits.spare = limits.begun, 0
        model.release("goal")
        await limits.changes.until(lambda: thread.is_quiet)
        assert (limits.begun, await status()) == (begun, "paused")
        assert REASON in limits.ended[-1].outcome.warnings


async def test_a_turn_in_a_thread_that_is_not_open_here_is_stopped(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, _model):
        core = await threads.supervisor.core()
        unknown = await core.start_thread(ThreadSpec())
        statuses: list[str] = []
        await core.start_turn(unknown.thread_id, TurnSpec("[[scene: goes_on]]"))
        while statuses != ["interrupted"]:
            with contextlib.suppress(CoreError):  # its file may be empty yet
                statuses = [turn.status async for turn in list_recorded_turns(core, unknown.thread_id)]


async def test_a_goal_near_a_limit_is_paused_if_its_caller_says_so(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, model):
        limits = Limits()
        threads.listen(limits)
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, "set a goal"))
        await model.wait_for_gate("goal")
        limits.spare = 200  # fewer than two requests use
        told = thread.submit(TurnSpec("hello", goal=GoalOrder(status="paused")), Watcher(), full_events=False)
        model.release("goal")
        assert (await end(told)).content == "Hello."
        goal = thread.own.unasked.goal(thread.id)
        assert goal is not None
        assert (goal.status, thread.is_quiet) == ("paused", True)


@pytest.mark.parametrize("moment", ["during a turn of the goal", "between two"])
async def test_a_prompt_that_cannot_join_comes_before_the_next_turn_of_a_goal(tmp_path: Path, moment: str) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, model):
        limits = Limits()
        threads.listen(limits)
        thread = await open_thread(threads, tmp_path)
        await end(submit(thread, "set a goal"))
        await model.wait_for_gate("goal")
        if moment == "between two":
            model.release("goal")
            await limits.changes.until(lambda: thread.current is not None and not thread.current.place.turn_id)
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        turn = thread.submit(TurnSpec("hello", output_schema=schema), Watcher(), full_events=False)
        assert turn.place.state is TurnQueueState.WAITING
        model.release("goal")
        assert (await end(turn)).content == "Hello."
        model.shut("goal")
        await model.wait_for_gate("goal")  # it goes on after that
        await thread.own.quiesce()


@pytest.mark.parametrize("has_ended", [False, True])
async def test_a_turn_that_codex_began_is_not_that_of_a_prompt_that_has_not_joined_it(
    tmp_path: Path, *, has_ended: bool
) -> None:
    slow = odd_codex(tmp_path / "bin", "begins turns late", version=TESTED)
    async with scripted_threads(tmp_path, script=OWN_TURNS, codex_version=str(slow)) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        goal = GoalOrder("make all quiet", token_budget=400 if has_ended else None)
        first = thread.submit(TurnSpec("[[scene: help]]", goal=goal), Watcher(), full_events=False)
        await model.wait_for_gate("helper")
        joins = submit(thread, "hello")
        late = tmp_path / "home/late"
        late.touch()
        model.release("helper")
        await end(first)
        await model.wait_for_gate("goal")  # the turn of the goal has used the tokens of one request
        if has_ended:
            (tmp_path / "home/ended").unlink()
            model.release("goal")
            while not (tmp_path / "home/ended").exists():  # noqa: ASYNC110  the odd Codex tells only its files
                await asyncio.sleep(0.01)
        late.unlink()
        answered = await end(joins)
        turns = [each for each in model.counts if first.place.turn_id < each.turn <= joins.place.turn_id]
        assert answered.usage is not None
        assert (answered.content, answered.usage.total_tokens) == ("Hello.", sum(each.tokens or 0 for each in turns))
        assert (len({each.turn for each in turns}) > 1) == has_ended
        await thread.own.quiesce()


async def test_a_subagent_takes_no_prompts_of_callers(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path, script=OWN_TURNS) as (threads, model):
        thread = await open_thread(threads, tmp_path)
        submit(thread, "[[scene: multi_agent_v1]]")
        await model.wait_for_gate("helper")
        (helper,) = thread.own.subagents.listed()
        with pytest.raises(Refused, match=f"is a sub-agent of thread {thread.id}"):
            await threads.find(helper.thread_id)
        await thread.own.quiesce()
