"""Prompts for a busy thread of the real Codex: they steer its turn, or interrupt it."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.codex import facts
from codex_mcp.codex.core import ThreadSpec, TurnSpec, When
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import CLOSED, TurnQueueState
from codex_mcp.wire.app.requests import UncommittedChanges
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.patience import PATIENCE
from tests.support.team.scenes import TEAM_SCRIPT, gate, heard
from tests.support.team.team_server import say


class Scene:
    """A thread of the real Codex, and its model."""

    def __init__(self, threads: Threads, thread: Thread, model: ScriptedModel) -> None:
        self.threads = threads
        self.thread = thread
        self.model = model

    def send(self, prompt: str, when: When = When.QUEUE) -> Turn:
        """Give it a prompt."""
        return self.thread.submit(TurnSpec(prompt, when=when), Watcher(), full_events=False)

    async def running(self, name: str = "gate") -> Turn:
        """A turn that has said half of its answer, and waits at a gate."""
        watcher = Watcher()
        turn = self.thread.submit(TurnSpec(gate(name)), watcher, full_events=False)
        await watcher.saw("agent_message")
        await self.model.wait_for_gate(name)
        return turn


@contextlib.asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    async with scripted_threads(folder, script=TEAM_SCRIPT) as (threads, model):
        work = folder / "work"
        work.mkdir()
        yield Scene(threads, await threads.start(ThreadSpec(cwd=str(work))), model)


async def end(turn: Turn) -> tuple[Status, str]:
    outcome = await turn.wait(PATIENCE)
    assert turn.ended, turn
    return outcome.status, outcome.content


async def test_a_prompt_that_steers_ends_with_the_turn_that_reads_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        host = await at.running()
        steering = at.send(say("another way"), When.STEER)
        assert (steering.joins, steering.place.state) == (host, TurnQueueState.JOINING)
        assert [await end(host), await end(steering)] == [(Status.COMPLETED, "another way")] * 2
        assert steering.answer is host
        assert at.thread.turns == [host]
        assert (at.thread.idle, at.thread.uncollected()) == (True, [host])
        assert at.thread.turn_named(steering.name) is steering


async def test_several_prompts_steer_one_turn_in_order(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        host = at.send(gate())
        steering = [at.send(say(f"number {number}"), When.STEER) for number in range(3)]  # before it has begun
        ends = [await end(turn) for turn in (host, *steering)]
        assert ends == [(Status.COMPLETED, "number 2")] * 4
        said = heard(at.model)
        assert said.index("number 0") < said.index("number 1") < said.index("number 2")
        assert all(said.count(say(f"number {number}")) == 1 for number in range(3))


async def test_a_prompt_that_steers_an_idle_thread_is_a_turn(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        turn = at.send(say("at once"), When.STEER)
        assert turn.joins is None
        assert await end(turn) == (Status.COMPLETED, "at once")


async def test_a_prompt_that_comes_after_the_end_of_the_turn_is_a_turn_of_its_own(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        host = await at.running()
        core, pid = await at.threads.supervisor.core(), at.threads.supervisor.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)  # until both requests are written
        async with asyncio.TaskGroup() as group:
            group.create_task(core.interrupt_turn(at.thread.id, host.place.turn_id))
            await asyncio.sleep(0)  # the interrupt is written first
            steering = at.send(say("too late to steer"), When.STEER)
            await asyncio.sleep(0)
            assert steering.joins is host
            os.kill(pid, signal.SIGCONT)
        assert await end(host) == (Status.INTERRUPTED, "Half of it.")
        assert await end(steering) == (Status.COMPLETED, "too late to steer")
        assert steering.answer is steering
        assert heard(at.model).count(say("too late to steer")) == 1


async def test_a_prompt_that_the_core_took_without_asking_the_model_is_answered_in_a_turn_without_a_text(
    tmp_path: Path,
) -> None:
    # Codex does that if the prompt comes while it ends the turn; here it is told what Codex would tell.
    async with scene(tmp_path) as at:
        host = await at.running()
        core = await at.threads.supervisor.core()
        turn_id = host.place.turn_id
        steering = at.thread.submit(TurnSpec(say("said before"), when=When.STEER), Watcher(), full_events=False)
        at.thread.notification_received(None, facts.PromptHeard(turn_id, steering.name))
        at.thread.notification_received(None, facts.TurnEnded(turn_id, "completed", None))
        assert (await end(host))[0] is Status.COMPLETED
        assert (steering.joins, steering.spec.is_said, steering.spec.input) == (None, True, [])
        await end(steering)
        await core.unload_thread(at.thread.id)


async def test_a_review_cannot_be_steered_and_the_prompt_follows_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        review = TurnSpec(review=UncommittedChanges())
        host = at.thread.submit(review, Watcher(), full_events=False)
        steering = at.send(say("after the review"), When.STEER)
        assert (await end(host))[0] is Status.COMPLETED
        assert await end(steering) == (Status.COMPLETED, "after the review")


async def test_a_cancelled_prompt_stops_no_turn(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        host = await at.running()
        steering = at.send(say("never mind"), When.STEER)
        at.thread.cancel(steering)
        assert await end(steering) == (Status.INTERRUPTED, "")
        assert not host.ended
        at.model.release("gate")
        assert (await end(host))[0] is Status.COMPLETED
        assert at.thread.turns == [host]


async def test_a_core_that_dies_fails_the_turn_and_the_prompt_that_steers_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        host = await at.running()
        assert at.threads.supervisor.pid is not None
        os.kill(at.threads.supervisor.pid, signal.SIGSTOP)  # it never answers turn/steer
        steering = at.send(say("lost"), When.STEER)
        os.kill(at.threads.supervisor.pid, signal.SIGKILL)
        ends = [await end(host), await end(steering)]
        assert [status for status, _ in ends] == [Status.FAILED] * 2
        assert ends[0] == ends[1]
        assert await end(at.send(say("again"))) == (Status.COMPLETED, "again")


async def test_a_closed_thread_answers_a_prompt_that_the_core_has_not_read(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        host = at.send(gate())
        steering = at.send(say("not read"), When.STEER)
        at.thread.shut()
        assert await end(steering) == (Status.FAILED, CLOSED)
        assert (await end(host))[0] is Status.INTERRUPTED


async def test_an_interrupting_prompt_runs_next_and_the_queue_stays(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        host = await at.running()
        waiting = at.send(say("in the queue"))
        urgent = at.send(say("at once"), When.INTERRUPT)
        assert await end(host) == (Status.INTERRUPTED, "Half of it.")
        assert await end(urgent) == (Status.COMPLETED, "at once")
        assert not waiting.place.turn_id
        assert await end(waiting) == (Status.COMPLETED, "in the queue")


async def test_an_interrupting_prompt_ends_the_commands_of_the_turn(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        watcher = Watcher()
        host = at.thread.submit(TurnSpec("[[scene: busy]]"), watcher, full_events=False)
        await watcher.saw_activity("running")
        urgent = at.send('[[scene: run cmd="pgrep -fc [s]leep.98765 || true"]]', When.INTERRUPT)
        assert (await end(host))[0] is Status.INTERRUPTED
        status, content = await end(urgent)
        assert (status, "\n0" in content) == (Status.COMPLETED, True), content


async def test_what_an_interrupted_turn_was_saying_is_in_its_outcome(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        watcher = Watcher()
        host = at.thread.submit(TurnSpec("[[scene: unfinished]]"), watcher, full_events=False)
        await watcher.saw("agent_message_content_delta")
        at.thread.cancel(host)
        status, content = await end(host)
        assert (status, "Half of a sentence, and" in content) == (Status.INTERRUPTED, True)


@pytest.mark.parametrize("delay", range(6))
async def test_a_prompt_at_the_end_of_a_turn_is_read_once_whatever_the_core_does(tmp_path: Path, delay: int) -> None:
    async with scene(tmp_path) as at:
        for number in range(6):
            watcher = Watcher()
            host = at.thread.submit(TurnSpec(say(f"first {number}")), watcher, full_events=False)
            await watcher.saw("agent_message")
            for _ in range(delay):
                await asyncio.sleep(0)  # a pass of the event loop
            steering = at.send(say(f"second {number}"), When.STEER)
            assert (await end(host))[0] is Status.COMPLETED
            assert await end(steering) == (Status.COMPLETED, f"second {number}")
            assert heard(at.model).count(say(f"second {number}")) == 1
