"""A crew knows all agents, resumes where it is told to, and lets go of what is another's."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.team.agent import AgentStatus
from codex_mcp.team.crew import Resume
from codex_mcp.team.refusals import TeamRefused
from tests.support.state.memory import MemoryStore, World
from tests.support.team.crews import Crewed, crewed
from tests.support.team.team_server import GATE, say


async def test_its_status_tells_who_is_busy_and_who_has_which_name(tmp_path: Path) -> None:
    async with crewed(tmp_path) as team:
        arch = await team.start("arch")
        await team.start("dev")
        await team.submit(arch, GATE)
        await team.model.wait_for_gate("gate")
        assert (await team.crew.status("local"))["queues"] == {}  # its turn runs, and none waits
        for _ in range(2):
            await team.submit(arch, say("later"))
        status = await team.crew.status("local")
        assert status["threads"] == {"active": 2, "busy": 1, "idle": 1, "limit": 10}
        assert set(status["identities"]) == {"arch", "dev"}  # type: ignore[call-overload]
        assert status["queues"] == {"arch": 2}
        core = status["core"]
        assert isinstance(core, dict)
        assert (core["alive"], core["backend"], core["last_exit"]) == (True, "app-server", None)
        assert arch.agent.backend == f"app-server {core['version']}"
        team.model.release("gate")


@pytest.mark.parametrize("by_name", [True, False])
async def test_the_first_call_goes_on_where_the_last_server_stopped(tmp_path: Path, *, by_name: bool) -> None:
    world = World()
    async with crewed(tmp_path, world) as before:
        member = await before.start()
        await before.ask(member, say("one"))
        codex_id = member.agent.codex_id
    async with crewed(tmp_path, world, Resume(codex_id if by_name else None)) as after:
        assert [agent.status for agent in await after.crew.agents("local")] == [AgentStatus.CLOSED]
        assert await resumed(after, "somebody") is None
        with pytest.raises(KeyError):  # a call that fails is not the first
            await resumed(after, fails=True)
        assert list(await asyncio.gather(resumed(after), resumed(after))) == [codex_id, None]


async def resumed(team: Crewed, identity: str | None = None, *, fails: bool = False) -> str | None:
    """The agent that a call for a new one goes on with."""
    async with team.crew.first_call(identity, "local") as reference:
        await asyncio.sleep(0)
        if fails:
            raise KeyError(reference)
        return reference


async def test_to_resume_somebody_unknown_is_refused_and_nobody_is_fine(tmp_path: Path) -> None:
    async with crewed(tmp_path, resume=Resume("codex:nobody")) as team:
        for _ in range(2):
            with pytest.raises(TeamRefused, match="--resume codex:nobody"):
                await resumed(team)
        with pytest.raises(TeamRefused, match="nobody"):
            await team.crew.agent("nobody", "local")
    async with crewed(tmp_path, resume=Resume()) as team:
        assert await resumed(team) is None


async def test_agents_that_another_server_took_over_are_let_go_and_their_callers_told(tmp_path: Path) -> None:
    world = World()
    async with crewed(tmp_path, world) as team:
        arch = await team.start("arch")
        turn = await team.submit(arch, GATE)
        await team.model.wait_for_gate("gate")
        team.crew.store_session.lost()
        outcome = await turn.wait()
        assert "Another server has taken over agent arch" in outcome.content
        assert len(team.crew.roster) == 0
        team.model.release("gate")


async def test_after_a_long_silence_only_what_nobody_claimed_is_still_ours(tmp_path: Path) -> None:
    world = World()
    async with crewed(tmp_path, world) as team:
        arch, dev = await team.start("arch"), await team.start("dev")
        await team.crew.store_session.writer.flush()
        other = MemoryStore(world)
        await other.leases.join()
        world.stop(team.crew.store_session.owner.node)
        await other.leases.claim(arch.agent.codex_id)
        keeper = team.crew.store_session._keeper
        assert keeper is not None
        keeper._lease = keeper._lease.at(keeper._clock() + 100)  # as if it had slept
        await team.crew.store_session.ready()
        assert list(team.crew.roster) == [dev]
        await other.aclose()
