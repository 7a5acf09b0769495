"""What agents of other servers ask: everybody on the state folder sees it, and only their own server can answer."""

from __future__ import annotations

import logging

from codex_mcp.state.contract import LeaseLost, Unavailable
from codex_mcp.team.agent import AskedElsewhere
from codex_mcp.team.crew import Crew
from codex_mcp.team.records.agent_store import read_questions

logger = logging.getLogger(__name__)


async def asked_elsewhere(crew: Crew, principal: str) -> list[AskedElsewhere]:
    """The open questions of this principal's agents that other living servers run; none if the store cannot say."""
    try:
        agents = {agent.codex_id: agent for agent in await crew.agents(principal)}
        asked = await read_questions(crew.store_session.store)
    except (LeaseLost, Unavailable) as exc:
        # What agents of ours ask can be answered all the same.
        logger.warning("cannot look for questions of other servers' agents: %s", exc)
        return []
    ours = {member.agent.codex_id for member in crew.roster}
    return [
        AskedElsewhere(each.id, agent, agent.owner, each.question)
        for each in asked
        if (agent := agents.get(each.codex_id)) is not None and agent.owner is not None and agent.codex_id not in ours
    ]
