"""Agents get their turns, within limits, and what came of each is written down."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import TurnSpec, When
from codex_mcp.codex.facts import TurnEnded
from codex_mcp.state.contract import Claim, Store
from codex_mcp.team.agent import AgentState
from codex_mcp.team.records.agent_store import QUESTION, read_agents
from codex_mcp.team.records.audit import read_audit
from codex_mcp.team.records.audit_entry import LONGEST_TEXT
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.refusals import TeamRefused, Why
from codex_mcp.team.work import Assignment
from codex_mcp.threads.questions.questions import Method
from codex_mcp.threads.record import Status
from tests.support.core.cores import Watcher
from tests.support.core.questions import COMMAND, ask
from tests.support.patience import PATIENCE
from tests.support.requirements import requirement
from tests.support.state.memory import MemoryStore, World
from tests.support.team.local_team import local_team
from tests.support.team.team_server import GATE, say

ASKED = ask(Method.EXEC, COMMAND)


async def test_turns_and_tokens_are_counted_and_outcomes_audited(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        await local.ask(arch, say("one"))
        failed = await local.ask(arch, "[[scene: fail]]")
        assert failed.status is Status.FAILED
        assert (arch.agent.turns, arch.agent.tokens) == (2, 120)
        assert arch.agent.last_error == failed.content
    entries = read_audit(str(tmp_path / "state"), identity="arch")
    assert [(entry.event, entry.outcome) for entry in entries][:2] == [("test", "ok"), ("test", "failed")]
    assert entries[0].what == say("one")
    assert entries[0].duration_ms is not None


async def test_of_a_long_error_and_a_long_tag_the_beginning_is_kept_without_secrets(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch", tag=f"password=hunter2 {'t ' * 10_000}")
        failed = await local.ask(arch, f'[[scene: error message="password=hunter2 {"e " * 10_000}"]]')
        assert len(failed.content) > 10_000
        for kept, letter in ((arch.agent.tag, "t"), (arch.agent.last_error, "e")):
            assert kept is not None
            assert f"password=**** {letter} {letter}" in kept
            assert (len(kept), kept[-1]) == (LONGEST_TEXT, "…")


@pytest.mark.parametrize(
    ("limits", "word"), [({"turns_per_hour": 1}, "turns_per_hour"), ({"tokens_per_thread": 100}, "tokens_per_thread")]
)
async def test_at_a_limit_an_agent_is_paused_and_says_so(tmp_path: Path, limits: dict[str, Any], word: str) -> None:
    async with local_team(tmp_path, **limits) as local:
        arch = await local.start("arch")
        await local.ask(arch, say("one"))
        with pytest.raises(TeamRefused, match=word) as paused:
            await local.submit(arch, say("two"))
        assert paused.value.why is Why.PAUSED
        assert "arch" in str((await local.team.status("local"))["paused"])


async def test_a_team_has_a_limit_of_its_own_that_outlives_servers(tmp_path: Path) -> None:
    world = World()
    async with local_team(tmp_path, world, tokens_per_team=100) as local:
        await local.ask(await local.start("arch"), say("one"))
        with pytest.raises(TeamRefused, match="tokens_per_team"):
            await local.submit(await local.start("dev"), say("two"))
    async with local_team(tmp_path, world, tokens_per_team=100) as local:
        # The tokens are used up, so that not even a summary was asked for.
        with pytest.raises(TeamRefused, match="has used 120 tokens"):
            await local.submit(await local.start("arch"), say("three"))


@pytest.mark.parametrize("limit", ["tokens_per_thread", "tokens_per_team"])
async def test_prompts_that_wait_do_not_begin_once_the_tokens_are_used_up(tmp_path: Path, limit: str) -> None:
    limits: dict[str, Any] = {limit: 200, "turns_per_hour": 9}
    async with local_team(tmp_path, **limits) as local:
        arch = await local.start("arch")
        running = await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        waiting = [await local.submit(arch, say(str(number))) for number in range(5)]
        local.model.release("gate")
        outcomes = [await turn.wait(PATIENCE) for turn in (running, *waiting)]
        assert [outcome.status for outcome in outcomes] == [Status.COMPLETED] * 2 + [Status.FAILED] * 4
        assert limit in outcomes[-1].content
        assert len(local.model.requests) == 2
        assert (arch.agent.turns, arch.agent.tokens, len(arch.spent.usage.turns)) == (2, 240, 2)


async def test_a_refused_rollback_is_no_turn(tmp_path: Path) -> None:
    world = World()
    async with local_team(tmp_path, world, turns_per_hour=2) as local:
        arch = await local.start("arch")
        await local.ask(arch, say("one"))
        task = Assignment(TurnSpec(say("two"), rollback=5), Watcher(), full_events=False, purpose="test")
        refused = await (await local.team.work.submit(arch, task)).wait(PATIENCE)
        assert refused.status is Status.FAILED
        assert "only 1 turn" in refused.content
        assert arch.agent.turns == 1
        await local.team.closing.close("arch", "local")
        arch = await local.find("arch", resume=True)  # what the journal says counts now
        assert (await local.ask(arch, say("three"))).content == "three"
        with pytest.raises(TeamRefused, match="turns_per_hour"):
            await local.submit(arch, say("four"))


async def test_a_turn_that_runs_out_of_time_is_audited_as_such(tmp_path: Path) -> None:
    async with local_team(tmp_path, turn_timeout=0.2) as local:
        outcome = await local.ask(await local.start("arch"), GATE)
        assert outcome.status is Status.FAILED
    entries = read_audit(str(tmp_path / "state"), identity="arch")
    assert [(entry.event, entry.outcome) for entry in entries][:1] == [("test", "timed_out")]


async def test_a_full_queue_and_a_closed_agent_refuse_and_lose_no_preface(tmp_path: Path) -> None:
    async with local_team(tmp_path, max_turns_waiting=1) as local:
        arch = await local.start("arch")
        await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        await local.submit(arch, say("waits"))
        arch.next_turn.add_preface("remember this")
        with pytest.raises(TeamRefused, match="1 more prompt is waiting"):
            await local.submit(arch, say("too many"))
        assert arch.next_turn.notes.prefaces == ("remember this",)
        await local.team.closing.close("arch", "local")
        with pytest.raises(TeamRefused, match="is closed"):
            await local.submit(arch, say("too late"))


async def test_a_turn_may_run_for_half_an_hour_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        turn = await local.submit(await local.start("arch"), say("one"))
        assert turn.spec.time_limit == 1800
        await turn.wait()
    async with local_team(tmp_path, turn_timeout=0.0) as local:
        turn = await local.submit(await local.start("arch"), say("one"))
        assert turn.spec.time_limit is None
        await turn.wait()


async def test_prompts_wait_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        running = await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        waiting = await asyncio.gather(*(local.submit(arch, say(str(number))) for number in range(20)))
        assert arch.thread is not None
        assert arch.thread.unfinished() == [running, *waiting]
        await local.team.closing.close("arch", "local")


async def test_what_waits_for_an_answer_is_in_the_store_for_all_servers_until_it_is_answered(tmp_path: Path) -> None:
    world = World()
    async with local_team(tmp_path, world) as local:
        other = MemoryStore(world)
        arch = await local.start("arch")
        turn = await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        tasks = TaskSet()
        questions = [replace(ASKED, id=turn.next_question_id()) for _ in range(2)]
        for question in questions:
            tasks.spawn(turn.parked.park(question), name="question")
        await asyncio.sleep(0)  # they ask
        await local.team.session.writer.flush()
        asked = await other.records.find(QUESTION)
        assert list(asked) == [f"{arch.agent.codex_id}/{turn.name}/question-{number}" for number in (1, 2)]
        described = msgspec.json.decode(next(iter(asked.values())))
        assert described["id"] == f"{turn.name}/question-1"
        assert (described["identity"], described["team"], described["principal"]) == ("arch", "default", "local")
        turn.parked.drop(questions[0].id)
        await local.team.session.writer.flush()
        assert [key[-1] for key in await other.records.find(QUESTION)] == ["2"]
        await local.team.closing.close("arch", "local")
        assert await other.records.find(QUESTION) == {}
        await tasks.aclose()
        await other.aclose()


async def test_an_agent_whose_codex_hangs_is_busy_until_it_wakes_and_its_turn_is_written_down_once(
    tmp_path: Path,
) -> None:
    async with local_team(tmp_path, interrupt_grace=0.1) as local:
        arch = await local.start("arch")
        core = (await local.team.status("local"))["core"]
        assert isinstance(core, dict)
        assert arch.thread is not None
        os.kill(core["pid"], signal.SIGSTOP)
        try:
            turn = await local.submit(arch, GATE)
            arch.thread.cancel(turn)
            assert (await turn.wait()).status is Status.INTERRUPTED
            assert arch.state is AgentState.BUSY
        finally:
            os.kill(core["pid"], signal.SIGCONT)
        await arch.thread.until_idle()
        await local.team.session.writer.flush()
        (written,) = read_registry(str(tmp_path / "state/registry.json"))
        assert written.thread_state is AgentState.IDLE
        assert (await local.ask(arch, say("awake"))).content == "awake"
    entries = read_audit(str(tmp_path / "state"), identity="arch")
    assert [(entry.event, entry.outcome) for entry in entries][:2] == [("test", "interrupted"), ("test", "ok")]


@requirement("FR-5.5")
async def test_an_agent_is_written_down_before_the_caller_of_its_first_turn_is_told_its_id(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        await local.team.session.writer.flush()
        held = Held(local.team.session.store)
        tasks = TaskSet()
        submitting = tasks.spawn(local.submit(arch, GATE), name="submit")
        await local.model.wait_for_gate("gate")  # the turn runs, and its caller waits for the disk
        await held.reached.wait()
        told = submitting.done()
        held.opened.set()
        await submitting
        assert not told
        (written,) = await read_agents(local.team.session.store)
        assert (written.codex_id, written.turns) == (arch.agent.codex_id, 1)
        local.model.release("gate")
        await tasks.aclose()


class Held:
    """Lets no record be written until it is opened, as a disk that takes its time."""

    def __init__(self, store: Store) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        put = store.records.put

        async def late(claim: Claim, kind: str, key: str, body: bytes) -> None:
            self.reached.set()
            await self.opened.wait()
            await put(claim, kind, key, body)

        store.records.put = late  # type: ignore[method-assign]


async def test_setting_the_clock_back_frees_no_turn_and_the_pause_lasts_an_hour_at_most(tmp_path: Path) -> None:
    async with local_team(tmp_path, turns_per_hour=1) as local:
        arch = await local.start("arch")
        await local.ask(arch, say("one"))
        (begun,) = arch.spent.usage.turns
        ahead = begun + 7200  # as if the clock had been set back by two hours since
        arch.spent.recall_turns(TeamSettings(turns_per_hour=1), [ahead])
        with pytest.raises(TeamRefused, match="turns_per_hour"):
            await local.submit(arch, say("two"))
        pause = local.team.work.pause(arch, 0)
        assert pause is not None
        assert pause.until is not None
        assert pause.until <= time.time() + 3600


async def test_a_prompt_that_steers_counts_as_a_turn_only_if_it_becomes_one(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        host = await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        pid = local.threads.supervisor.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)  # the prompt is not read before the turn has ended
        task = Assignment(TurnSpec(say("left"), when=When.STEER), Watcher(), full_events=False, purpose="test")
        steering = await local.team.work.submit(arch, task)
        assert (steering.joins, arch.agent.turns) == (host, 1)
        assert arch.thread is not None
        arch.thread.notification_received(None, TurnEnded(host.place.turn_id, "completed", None))
        assert (steering.joins, arch.agent.turns) == (None, 2)
        os.kill(pid, signal.SIGCONT)
