"""Principals take turns at the real Codex."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import ThreadSpec, TurnSpec
from codex_mcp.codex.launch import launcher
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.state.embedded.owners import EmbeddedOwners
from codex_mcp.threads.limits.account import Account
from codex_mcp.threads.limits.admission import WAITING, Admission
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import TurnQueue
from tests.support.core.cores import Watcher, environment_below, no_pace, settings_below
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR

SAY = '[[scene: say text="done"]]'
GATE = "[[scene: gate]]"
MANY = 40


@contextlib.asynccontextmanager
async def shared_threads(folder: Path, **changed: object) -> AsyncIterator[tuple[Threads, ScriptedModel]]:
    """The threads of a server where principals show tokens."""
    (folder / "work").mkdir()
    async with ScriptedModel(load_script(TOUR)) as model:
        settings = settings_below(folder, overrides=tuple(model.codex_overrides()), **changed)
        owners = EmbeddedOwners(settings.core.codex_home)
        await owners.open()
        async with contextlib.aclosing(owners):
            threads = Threads(
                settings.core, settings.calls, launcher(settings.core, environment_below(folder)), no_pace, owners
            )
            try:
                yield threads, model
            finally:
                async with asyncio.timeout(PATIENCE):
                    await threads.aclose()


async def opened(threads: Threads, folder: Path, principal: str) -> Thread:
    async with asyncio.timeout(PATIENCE):
        return await threads.start(ThreadSpec(cwd=str(folder / "work")), principal)


def submit(thread: Thread, prompt: str) -> Turn:
    return thread.submit(TurnSpec(prompt), Watcher(), full_events=False)


async def ended(turn: Turn) -> Status:
    status = (await turn.wait(PATIENCE)).status
    assert turn.ended, turn
    return status


async def test_a_call_overtakes_what_another_principal_has_waiting(tmp_path: Path) -> None:
    order: list[str] = []
    async with shared_threads(tmp_path, max_requests_in_flight=4) as (threads, _model):

        async def call(principal: str) -> None:
            thread = await threads.start(ThreadSpec(cwd=str(tmp_path / "work")), principal)
            assert await ended(submit(thread, SAY)) is Status.COMPLETED
            order.append(principal)

        tasks = TaskSet()
        calls = [tasks.spawn(call("ada"), name="a call of ada's") for _ in range(MANY)]
        await asyncio.sleep(0)  # all of hers have asked before he does
        calls.append(tasks.spawn(call("bob"), name="bob's call"))
        async with asyncio.timeout(4 * PATIENCE):
            await asyncio.gather(*calls)
        await tasks.aclose()
    assert order.count("ada") == MANY
    assert order.index("bob") < MANY // 4, order


async def test_a_principal_runs_as_many_turns_as_it_may_and_the_next_waits_for_one_to_end(tmp_path: Path) -> None:
    async with shared_threads(tmp_path, turns_per_principal=1) as (threads, model):
        held, waits = [submit(await opened(threads, tmp_path, "ada"), GATE) for _ in range(2)]
        await model.wait_for_gate("gate")
        assert await ended(submit(await opened(threads, tmp_path, "bob"), SAY)) is Status.COMPLETED
        assert (waits.core, waits.outcome.activity) == (None, WAITING)
        model.release("gate")
        assert [await ended(turn) for turn in (held, waits)] == [Status.COMPLETED] * 2


async def test_a_turn_that_waits_for_room_ends_as_soon_as_it_is_cancelled(tmp_path: Path) -> None:
    async with shared_threads(tmp_path, turns_per_principal=1, interrupt_grace=1000) as (threads, model):
        held = submit(await opened(threads, tmp_path, "ada"), GATE)
        await model.wait_for_gate("gate")
        thread = await opened(threads, tmp_path, "ada")
        waits = submit(thread, SAY)
        await asyncio.sleep(0)
        thread.cancel(waits)
        assert await ended(waits) is Status.INTERRUPTED
        assert waits.core is None
        model.release("gate")
        assert await ended(held) is Status.COMPLETED
        assert await ended(submit(thread, SAY)) is Status.COMPLETED


class OpenThread:
    """What pays for its turns is the server's account."""

    spec = ThreadSpec()


async def test_a_turn_that_is_cancelled_after_it_was_let_in_and_before_it_noticed_does_not_start() -> None:
    admission, queue, tasks = (
        Admission(turns_each=1, account=Account(()), starts=1),
        TurnQueue(max_waiting=1),
        TaskSet(),
    )
    turn = Turn("t", TurnSpec(SAY), Watcher(), full_events=False)
    queue.offer(turn.place)
    async with admission.opening("ada"):
        entering = tasks.spawn(admission.enter(OpenThread(), turn, "ada"), name="turn")
        await asyncio.sleep(0)
    queue.cancel(turn.place)
    admission.withdraw(turn)
    assert not await entering
    async with asyncio.timeout(PATIENCE), admission.opening("ada"):
        pass  # its place is free again
    await tasks.aclose()


async def test_the_one_principal_of_a_server_without_tokens_never_waits(tmp_path: Path) -> None:
    async with shared_threads(tmp_path, turns_per_principal=1) as (threads, model):
        turns = [
            submit(await opened(threads, tmp_path, LOCAL), f"[[scene: gate name=g{number}]]") for number in range(3)
        ]
        for number in range(3):
            await model.wait_for_gate(f"g{number}")
        for number in range(3):
            model.release(f"g{number}")
        assert [await ended(turn) for turn in turns] == [Status.COMPLETED] * 3


async def test_what_waits_is_limited_in_number_and_size_for_each_principal(tmp_path: Path) -> None:
    limits = {"queued_turns_per_principal": 2, "queued_bytes_per_principal": 100}
    async with shared_threads(tmp_path, **limits) as (threads, model):
        thread, other = await opened(threads, tmp_path, "ada"), await opened(threads, tmp_path, "bob")
        turns = [submit(thread, GATE)]
        await model.wait_for_gate("gate")
        turns.append(submit(thread, SAY))
        with pytest.raises(Refused, match="queued_bytes_per_principal"):
            submit(thread, SAY + "x" * 100)
        turns.append(submit(thread, SAY))
        with pytest.raises(Refused, match="you have 2 turns waiting already"):
            submit(thread, SAY)
        with pytest.raises(Refused, match="queued_turns_per_principal"):
            await opened(threads, tmp_path, "ada")
        assert await ended(submit(other, SAY)) is Status.COMPLETED
        model.release("gate")
        assert [await ended(turn) for turn in turns] == [Status.COMPLETED] * 3
        assert await ended(submit(thread, SAY)) is Status.COMPLETED


async def test_a_principal_with_as_many_threads_as_it_may_have_lets_an_idle_one_go(tmp_path: Path) -> None:
    limits = {"threads_per_principal": 2, "finished_turns_kept": 1}
    async with shared_threads(tmp_path, **limits) as (threads, model):
        busy, idle = await opened(threads, tmp_path, "ada"), await opened(threads, tmp_path, "ada")
        assert await ended(submit(idle, SAY)) is Status.COMPLETED
        held = submit(busy, GATE)
        await model.wait_for_gate("gate")
        new = await opened(threads, tmp_path, "ada")
        assert set(threads.of("ada")) == {busy, new}
        also = submit(new, GATE)
        with pytest.raises(Refused, match="threads_per_principal"):
            await opened(threads, tmp_path, "ada")
        await opened(threads, tmp_path, "bob")
        model.release("gate")
        assert [await ended(turn) for turn in (held, also)] == [Status.COMPLETED] * 2
        back = await threads.find(idle.id, "ada")
        assert await ended(submit(back, SAY)) is Status.COMPLETED
