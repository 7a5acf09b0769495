"""Agents are started under an identity, and found by every name."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import ConfigRefused
from codex_mcp.team.refusals import TeamRefused, Why
from tests.support.state.memory import World
from tests.support.team.local_team import local_team
from tests.support.team.team_server import GATE, say


async def test_an_agent_has_the_name_that_was_asked_for_and_is_found_by_all_of_its_names(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        arch = await local.start("arch")
        assert (await local.ask(arch, say("yes"))).content == "yes"
        assert arch.agent.thread_id is not None
        for name in ("arch", arch.agent.codex_id, arch.agent.thread_id):
            assert await local.find(name) is arch


async def test_without_a_name_the_default_is_numbered_and_a_name_that_was_asked_for_never_is(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        names = [(await local.start()).agent.identity for _ in range(3)]
        assert names == ["codex", "codex-2", "codex-3"]
        with pytest.raises(TeamRefused) as refused:
            await local.start("codex-2")
        assert refused.value.why is Why.IDENTITY_TAKEN
        holder = local.team.roster.called("codex-2", "local")
        assert holder is not None
        assert refused.value.facts["codex_id"] == holder.agent.codex_id
        assert len(local.team.roster) == 3


async def test_with_a_name_nobody_elses_names_and_questions_are_read(tmp_path: Path) -> None:
    read: list[str] = []
    async with local_team(tmp_path) as local:
        await local.start()
        records = local.team.session.store.records
        for look in ("names", "bindings", "find"):
            setattr(records, look, partial(noted, read, getattr(records, look)))
        await local.start("arch")
        await local.team.session.writer.flush()
        assert set(read) == {"agent"}, "for the registry"


def noted(read: list[str], ask: Callable[[str], Awaitable[Any]], of: str) -> Awaitable[Any]:
    read.append(of)
    return ask(of)


async def test_many_that_start_at_once_get_a_number_each(tmp_path: Path) -> None:
    async with local_team(tmp_path, max_concurrent_threads=30) as local:
        members = await asyncio.gather(*(local.start() for _ in range(30)))
        assert {member.agent.identity for member in members} == {"codex", *(f"codex-{n}" for n in range(2, 31))}


async def test_a_name_that_is_none_starts_nothing(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        with pytest.raises(Refused, match="as an identity"):
            await local.start("../x")
        assert len(local.team.roster) == 0


async def test_as_many_agents_as_may_be_and_no_more(tmp_path: Path) -> None:
    async with local_team(tmp_path, max_concurrent_threads=1) as local:
        first = await local.start()
        with pytest.raises(TeamRefused, match="1 agent of yours is active, which is the limit"):
            await local.start()
        await local.start("theirs", principal="another")
        await local.team.closing.close(first.agent.codex_id, "local")
        await local.start()


async def test_of_many_that_start_at_once_no_more_than_may_be_are_started(tmp_path: Path) -> None:
    async with local_team(tmp_path, max_concurrent_threads=3) as local:
        started = await asyncio.gather(*(local.start() for _ in range(8)), return_exceptions=True)
        assert sum(isinstance(each, TeamRefused) for each in started) == 5
        assert len(local.team.roster) == 3


async def test_an_agent_that_could_not_be_started_leaves_nothing(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        order = local.order("arch", request_id="r-1")
        broken = replace(order, spec=replace(order.spec, config={"model_provider": "missing"}))
        with pytest.raises(ConfigRefused):
            async with local.team.starting.start(broken):
                pass
        assert len(local.team.roster) == 0
        assert await local.team.directory.agents("local") == []
        second_attempt = await local.start("arch", request_id="r-1")
        assert (await local.ask(second_attempt, say("now"))).content == "now"


async def test_of_two_servers_that_get_the_same_request_at_once_one_starts_its_agent(tmp_path: Path) -> None:
    world = World()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with local_team(tmp_path / "one", world) as one, local_team(tmp_path / "two", world) as two:
        started = await asyncio.gather(
            one.start("arch", request_id="r-1"), two.start("arch", request_id="r-1"), return_exceptions=True
        )
        (refused,) = [each for each in started if isinstance(each, TeamRefused)]
        assert refused.why in (Why.OWNED_ELSEWHERE, Why.BUSY)
        assert len(one.team.roster) + len(two.team.roster) == 1
        other = await one.start("dev", request_id="r-2")
        assert other.agent.identity == "dev"


async def test_what_belongs_to_another_principal_is_not_there(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        await local.start("arch", principal="local")
        with pytest.raises(TeamRefused) as unknown:
            await local.find("arch", "somebody", resume=True)
        assert unknown.value.why is Why.NOT_FOUND
        with pytest.raises(TeamRefused) as taken:
            await local.start("arch", principal="somebody")
        assert "codex_id" not in taken.value.facts


@pytest.mark.parametrize("submits", [True, False], ids=["after its first turn began", "before its first turn"])
async def test_an_agent_whose_first_turn_is_refused_leaves_no_name_no_record_and_no_thread(
    tmp_path: Path, *, submits: bool
) -> None:
    async with local_team(tmp_path, max_concurrent_threads=1) as local:

        async def fail_to_begin() -> None:
            async with local.team.starting.start(local.order("arch")) as member:
                if submits:
                    await local.submit(member, GATE)
                    await local.model.wait_for_gate("gate")
                raise Refused("it may not begin")

        for _ in range(2):
            with pytest.raises(Refused, match="may not begin"):
                await fail_to_begin()
            assert len(local.team.roster) == 0
            assert await local.team.directory.agents("local") == []
            assert await local.team.session.store.records.bindings("default") == []
            assert local.threads.of("local") == []
        assert (await local.start("arch")).agent.identity == "arch"
        local.model.release("gate")
