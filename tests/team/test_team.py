"""A team reports its status, resumes where it is told to, and lets go of agents that another server took over."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.team.agent import AgentStatus
from codex_mcp.team.refusals import TeamRefused
from codex_mcp.team.resuming import ResumeFirst
from tests.support.state.memory import MemoryStore, World
from tests.support.team.local_team import LocalTeam, local_team
from tests.support.team.team_server import GATE, say


async def test_its_status_tells_who_is_busy_and_who_has_which_name(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        await local.start("dev")
        await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        assert (await local.team.status("local"))["queues"] == {}  # its turn runs, and none waits
        for _ in range(2):
            await local.submit(arch, say("later"))
        status = await local.team.status("local")
        assert status["threads"] == {"active": 2, "busy": 1, "idle": 1, "limit": 10}
        assert set(status["identities"]) == {"arch", "dev"}  # type: ignore[call-overload]
        assert status["queues"] == {"arch": 2}
        core = status["core"]
        assert isinstance(core, dict)
        assert (core["alive"], core["backend"], core["last_exit"]) == (True, "app-server", None)
        assert arch.agent.backend == f"app-server {core['version']}"
        local.model.release("gate")


@pytest.mark.parametrize("by_name", [True, False])
async def test_the_first_call_goes_on_where_the_last_server_stopped(tmp_path: Path, *, by_name: bool) -> None:
    world = World()
    async with local_team(tmp_path, world) as before:
        member = await before.start()
        await before.ask(member, say("one"))
        codex_id = member.agent.codex_id
    async with local_team(tmp_path, world, ResumeFirst(codex_id if by_name else None)) as after:
        assert [agent.status for agent in await after.team.directory.agents("local")] == [AgentStatus.CLOSED]
        assert await resumed(after, "somebody") is None
        with pytest.raises(KeyError):  # a call that fails is not the first
            await resumed(after, fails=True)
        assert list(await asyncio.gather(resumed(after), resumed(after))) == [codex_id, None]


async def resumed(local: LocalTeam, identity: str | None = None, *, fails: bool = False) -> str | None:
    """The agent that a call for a new one continues."""
    async with local.team.first_call.around(identity, "local") as reference:
        await asyncio.sleep(0)
        if fails:
            raise KeyError(reference)
        return reference


async def test_to_resume_somebody_unknown_is_refused_and_nobody_is_fine(tmp_path: Path) -> None:
    async with local_team(tmp_path, resume=ResumeFirst("codex:nobody")) as local:
        for _ in range(2):
            with pytest.raises(TeamRefused, match="--resume codex:nobody"):
                await resumed(local)
        with pytest.raises(TeamRefused, match="nobody"):
            await local.team.directory.find("nobody", "local")
    async with local_team(tmp_path, resume=ResumeFirst()) as local:
        assert await resumed(local) is None


async def test_agents_that_another_server_took_over_are_let_go_and_their_callers_told(tmp_path: Path) -> None:
    world = World()
    async with local_team(tmp_path, world) as local:
        arch = await local.start("arch")
        turn = await local.submit(arch, GATE)
        await local.model.wait_for_gate("gate")
        local.team.all_taken_over()
        outcome = await turn.wait()
        assert "Another server has taken over agent arch" in outcome.content
        assert len(local.team.roster) == 0
        local.model.release("gate")


async def test_after_a_long_silence_only_what_nobody_claimed_is_still_ours(tmp_path: Path) -> None:
    world = World()
    async with local_team(tmp_path, world) as local:
        arch, dev = await local.start("arch"), await local.start("dev")
        await local.team.session.writer.flush()
        other = MemoryStore(world)
        await other.leases.join()
        world.stop(local.team.session.owner.node)
        await other.leases.claim(arch.agent.codex_id)
        keeper = local.team.session._keeper
        assert keeper is not None
        keeper._lease = keeper._lease.at(keeper._clock() + 100)  # as if it had slept
        await local.team.session.ready()
        assert list(local.team.roster) == [dev]
        await other.aclose()
