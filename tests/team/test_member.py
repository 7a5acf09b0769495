"""An agent of ours: what it does is known from where it does it."""

from pathlib import Path

from codex_mcp.team.agent import AgentState
from codex_mcp.team.member import Member
from tests.support.team.crews import crewed
from tests.support.team.team_server import GATE
from tests.team.test_agent import agent


def test_one_that_is_being_started_is_busy() -> None:
    assert Member(agent()).state is AgentState.BUSY


async def test_its_state_is_that_of_its_thread(tmp_path: Path) -> None:
    async with crewed(tmp_path) as team:
        member = await team.start("arch")
        assert (member.state, member.record.thread_state) == (AgentState.IDLE, AgentState.IDLE)
        turn = await team.submit(member, GATE)
        await team.model.wait_for_gate("gate")
        assert (member.state, member.record.thread_state) == (AgentState.BUSY, AgentState.BUSY)
        team.model.release("gate")
        await turn.wait()
        assert member.state is AgentState.IDLE
        assert member.names == {"codex_id": member.agent.codex_id, "identity": "arch", "team": "default"}
        assert repr(member) == f"<Member arch {member.agent.codex_id} idle>"
