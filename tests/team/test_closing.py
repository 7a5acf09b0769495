"""Closing: all calls are answered, the identity is free, and the work is summed up if there was any."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.team.agent import AgentState, AgentStatus
from codex_mcp.team.closing import Close
from codex_mcp.team.records.pruning import AGENTS_KEPT
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.records.summaries import read_summary
from codex_mcp.team.refusals import TeamRefused
from codex_mcp.threads.record import Status as TurnStatus
from tests.support.requirements import requirement
from tests.support.team.local_team import LocalTeam, local_team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import GATE, say
from tests.team.records.test_pruning import closed, written


def summary_of(local: LocalTeam, folder: Path, thread_id: str | None, identity: str = "arch") -> str | None:
    summary = read_summary(str(folder / "state"), identity, thread_id or "")
    return None if summary is None else summary.text


async def test_an_idle_agent_is_closed_at_once_without_a_summary(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        await local.ask(arch, say("one"))
        requests = len(local.model.requests)
        closed = await local.team.closing.close("arch", "local")
        assert (closed.how, closed.agent.status, len(local.model.requests)) == (
            Close.CLOSED,
            AgentStatus.CLOSED,
            requests,
        )
        await local.start("arch")


async def test_a_busy_agent_is_stopped_its_queue_answered_and_its_work_summed_up(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        running, waiting = await local.submit(arch, GATE), await local.submit(arch, say("never"))
        await local.model.wait_for_gate("gate")
        first, second = await asyncio.gather(
            local.team.closing.close("arch", "local"), local.team.closing.close("arch", "local")
        )
        assert [first.how, second.how] == [Close.CLOSED, Close.ALREADY_CLOSED]
        assert running.outcome.status is TurnStatus.INTERRUPTED
        assert "closed" in waiting.outcome.content
        assert summary_of(local, tmp_path, arch.agent.thread_id)
        assert (await local.team.closing.close("arch", "local")).how is Close.ALREADY_CLOSED


async def test_a_codex_that_hangs_keeps_no_agent_from_being_closed(tmp_path: Path) -> None:
    async with local_team(tmp_path, interrupt_grace=0.05) as local:
        arch, _idle = await local.start("arch"), await local.start("idle")
        core = (await local.team.status("local"))["core"]
        assert isinstance(core, dict)
        os.kill(core["pid"], signal.SIGSTOP)
        try:
            begun = await local.submit(arch, say("never"))
            assert (await local.team.closing.close("arch", "local")).how is Close.INTERRUPTED
            assert (await local.team.closing.close("idle", "local")).how is Close.CLOSED
            assert begun.outcome.status is TurnStatus.INTERRUPTED
        finally:
            os.kill(core["pid"], signal.SIGCONT)


async def test_without_a_summary_in_time_it_is_interrupted(tmp_path: Path) -> None:
    async with local_team(tmp_path, summary_timeout=0.001) as local:
        arch = await local.start("arch")
        await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        closed = await local.team.closing.close("arch", "local")
        assert (closed.how, closed.agent.status) == (Close.INTERRUPTED, AgentStatus.INTERRUPTED)
        assert summary_of(local, tmp_path, arch.agent.thread_id) is None


async def test_a_closed_agent_is_not_talked_to_and_can_be_resumed_with_its_summary(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        await local.team.closing.close("arch", "local")
        with pytest.raises(TeamRefused, match="is closed"):
            await local.find("arch")
        again = await local.find(arch.agent.codex_id, resume=True)
        assert again.agent.status is AgentStatus.ACTIVE
        assert (await local.ask(again, say("back"))).content == "back"
        assert "earlier-summary" in str(local.model.requests[-1])


async def test_at_the_end_all_agents_sum_up_at_once(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        members = [await local.start(f"dev-{number}") for number in range(3)]
        for member in members:
            await local.ask(member, say("worked"))
        await local.team.closing.close_all()
        assert all(summary_of(local, tmp_path, each.agent.thread_id, each.agent.identity) for each in members)
        assert len(local.team.roster) == 0
        assert {agent.status for agent in await local.team.directory.agents("local")} == {AgentStatus.CLOSED}


async def test_to_sum_up_is_no_use_that_somebody_made_of_an_agent_and_no_limit_forbids_it(tmp_path: Path) -> None:
    async with local_team(tmp_path, turns_per_hour=1) as local:
        arch, dev = await local.start("arch"), await local.start("dev")
        await local.ask(dev, say("worked"))
        await local.ask(arch, "[[scene: fail]]")
        before = {each.agent.identity: each.agent for each in (arch, dev)}
        await local.team.closing.close_all()
        after = {agent.identity: agent for agent in await local.team.directory.agents("local")}
        for name in ("arch", "dev"):
            assert summary_of(local, tmp_path, before[name].thread_id, name)
            assert (after[name].status, after[name].turns) == (AgentStatus.CLOSED, 1)
            assert (after[name].last_active, after[name].last_error) == (
                before[name].last_active,
                before[name].last_error,
            )
            assert after[name].tokens > before[name].tokens
        assert after["arch"].last_error


async def test_while_they_sum_up_it_is_written_that_they_are_interrupted_in_case_we_are_killed(tmp_path: Path) -> None:
    async with local_team(tmp_path, script=TEAM_SCRIPT) as local:
        arch = await local.start("arch")
        await local.ask(arch, f"slow to sum up {say('worked')}")
        tasks = TaskSet()
        closing = tasks.spawn(local.team.closing.close_all(), name="end")
        await local.model.wait_for_gate("summary")
        await local.team.session.writer.flush()
        (written,) = read_registry(str(tmp_path / "state/registry.json"))
        assert (written.status, written.thread_state, written.owner) == (
            AgentStatus.INTERRUPTED,
            AgentState.CLOSED,
            None,
        )
        local.model.release("summary")
        await closing
        (written,) = read_registry(str(tmp_path / "state/registry.json"))
        assert written.status is AgentStatus.CLOSED
        await tasks.aclose()


async def test_who_is_in_a_hurry_gets_no_summaries_and_a_true_record(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        tasks = TaskSet()
        tasks.spawn(local.team.closing.close_all(), name="end")
        await asyncio.sleep(0)  # it begins
        await tasks.aclose()
        assert [agent.status for agent in await local.team.directory.agents("local")] == [AgentStatus.INTERRUPTED]


async def test_whoever_is_closed_last_is_kept_and_the_oldest_forgotten(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        await written(local.team.session.store, *map(closed, range(AGENTS_KEPT)))
        await local.team.closing.close("arch", "local")
        known = {agent.codex_id for agent in await local.team.session.writer.agents()}
        assert len(known) == AGENTS_KEPT
        assert (arch.agent.codex_id in known, "codex:0" in known, "codex:1" in known) == (True, False, True)
        shown = {agent.codex_id for agent in read_registry(str(tmp_path / "state/registry.json"))}
        assert shown == known


@requirement("FR-7.2")
async def test_an_agent_has_ten_seconds_to_sum_up_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    async with local_team(tmp_path, script=TEAM_SCRIPT) as local:
        arch = await local.start("arch")
        await local.ask(arch, f"slow to sum up {say('worked')}")
        tasks = TaskSet()
        closing = tasks.spawn(local.team.closing.close_all(), name="close")
        await local.model.wait_for_gate("summary")
        assert arch.thread is not None
        summing_up = arch.thread.current
        local.model.release("summary")
        await closing
        assert summing_up is not None
        assert summing_up.spec.time_limit == 10.0
        assert arch.agent.status is AgentStatus.CLOSED
        await tasks.aclose()
