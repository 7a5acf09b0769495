"""What agents of other servers ask is seen by their own principal, as long as their server lives."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from codex_mcp.state.contract import Claim, Unavailable
from codex_mcp.team.agent import Owner
from codex_mcp.team.records.agent_store import QUESTION, write_agent
from tests.support.state.memory import MemoryStore, World
from tests.support.team.local_team import local_team
from tests.team.test_agent import agent


async def another_server(world: World, principal: str = "local", team: str = "default") -> MemoryStore:
    """A server whose only agent asks something."""
    store = MemoryStore(world)
    node = await store.leases.join()
    arch = replace(agent(), principal=principal, team=team, owner=Owner(node.id, 7, "h"))
    claim = await store.leases.claim(arch.codex_id)
    assert isinstance(claim, Claim)
    await write_agent(store, claim, arch)
    body = {"id": "turn/question-1", "codex_id": arch.codex_id, "question": "May I?"}
    await store.records.put(claim, QUESTION, f"{arch.codex_id}/turn/question-1", msgspec.json.encode(body))
    return store


async def test_it_says_what_is_asked_and_whose_it_is_until_that_server_is_gone(tmp_path: Path) -> None:
    world = World()
    other = await another_server(world)
    async with local_team(tmp_path, world) as local:
        (asked,) = await local.team.directory.asked_elsewhere("local")
        assert (asked.id, asked.question, asked.agent.identity) == ("turn/question-1", "May I?", "arch")
        assert (asked.owner.pid, asked.owner.host) == (7, "h")
        await other.leases.leave()
        assert await local.team.directory.asked_elsewhere("local") == []
    await other.aclose()


@pytest.mark.parametrize("whose", [{"principal": "alice"}, {"team": "red"}])
async def test_another_principal_or_team_sees_nothing(tmp_path: Path, whose: dict[str, str]) -> None:
    world = World()
    other = await another_server(world, **whose)
    async with local_team(tmp_path, world) as local:
        assert await local.team.directory.asked_elsewhere("local") == []
    await other.aclose()


async def test_a_store_that_cannot_be_reached_hides_only_what_others_ask(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cannot(_kind: str) -> dict[str, bytes]:
        raise Unavailable("the disk is gone")

    async with local_team(tmp_path) as local:
        await local.team.session.ready()
        with monkeypatch.context() as patch:
            patch.setattr(local.team.session.store.records, "find", cannot)
            assert await local.team.directory.asked_elsewhere("local") == []
    assert "the disk is gone" in caplog.text
