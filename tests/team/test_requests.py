"""A request that came before is recognised, for the principal and the team that it came from."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import TurnSpec
from codex_mcp.state.contract import Unavailable
from codex_mcp.team.agent import RequestKey
from codex_mcp.team.refusals import TeamRefused, Why
from codex_mcp.team.roster import Member
from codex_mcp.team.work import Assignment
from tests.support.core.cores import Watcher
from tests.support.patience import PATIENCE
from tests.support.state.memory import MemoryStore, World
from tests.support.team.local_team import LocalTeam, local_team
from tests.support.team.team_server import say

REQUEST = RequestKey("r-1", "these arguments")


async def begun(local: LocalTeam, request: RequestKey, **fields: Any) -> Member:
    """An agent that was started by this request, whose first turn has ended."""
    async with local.team.starting.start(local.order(request_id=request.id, **fields)) as member:
        spec = TurnSpec(say("yes"))
        task = Assignment(spec, Watcher(), full_events=False, purpose="test", request=request)
        turn = await local.team.work.submit(member, task)
        await turn.wait(PATIENCE)
        return member


async def test_it_is_known_to_its_own_principal_and_team_alone(tmp_path: Path) -> None:
    world = World()
    async with local_team(tmp_path, world) as local:
        member = await begun(local, REQUEST)
        for _ in range(2):
            repeat = await local.team.requests.find_repeat("local", REQUEST)
            assert repeat is not None
            assert (repeat.agent.codex_id, repeat.outcome.content) == (member.agent.codex_id, "yes")
            assert await local.team.requests.find_repeat("ada", REQUEST) is None
            assert await local.team.requests.find_repeat("local", RequestKey("r-2", "these arguments")) is None
            with pytest.raises(TeamRefused) as reused:
                await local.team.requests.find_repeat("local", RequestKey("r-1", "others"))
            assert reused.value.why is Why.REQUEST_REUSED
            await local.team.closing.close(member.agent.codex_id, "local")
    async with local_team(tmp_path, world, team="other") as elsewhere:
        assert await elsewhere.team.requests.find_repeat("local", REQUEST) is None
        assert (await begun(elsewhere, REQUEST)).agent.codex_id != member.agent.codex_id


async def test_the_same_request_waits_for_the_one_before_it_and_others_do_not(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        tasks = TaskSet()
        async with local.team.requests.one_at_a_time("local", REQUEST):
            second = tasks.spawn(_passed(local, "local", REQUEST), name="the same request")
            await _passed(local, "ada", REQUEST)
            await _passed(local, "local", RequestKey("r-2", ""))
            await _passed(local, "local", None)
            await asyncio.sleep(0)
            assert not second.done()
        await second
        await tasks.aclose()


async def _passed(local: LocalTeam, principal: str, request: RequestKey | None) -> None:
    async with local.team.requests.one_at_a_time(principal, request):
        pass


async def test_a_request_that_cannot_be_written_down_begins_no_turn(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        store = local.team.session.store
        assert isinstance(store, MemoryStore)
        store.is_closed = True  # as one whose disk is gone
        task = Assignment(TurnSpec(say("x")), Watcher(), full_events=False, purpose="test", request=REQUEST)
        with pytest.raises(Unavailable, match="turn was not begun"):
            await local.team.work.submit(arch, task)
        assert (arch.agent.requests, arch.requested.turns, len(local.model.requests)) == ((), {}, 0)
        store.is_closed = False
