"""Asks an agent to try again what nobody answered in time: a prompt to it, by the tool that replies."""

from __future__ import annotations

from typing import Final

from codex_mcp.control.server import Caller
from codex_mcp.dashboard.desks.calling import call_tool
from codex_mcp.dashboard.desks.done import Done
from codex_mcp.dashboard.views.cards import href_of
from codex_mcp.dashboard.views.facts import FleetFacts
from codex_mcp.dashboard.views.rows import is_of
from codex_mcp.dashboard.views.wants import want_of

PROMPT: Final = (
    "You have asked for an answer and nobody gave one in time ({what}). Somebody is here now. If it is still needed, "
    "try it again."
)


async def ask_again(state_dir: str, facts: FleetFacts, question_id: str, caller: Caller) -> Done | None:
    """None: there is no such question of an agent that runs, or it has not expired."""
    asked = next((each for each in facts.answered if each.question.id == question_id), None)
    if asked is None or asked.question.receipt is None or asked.question.receipt.state != "expired":
        return None
    agent = next((each for each in facts.agents if is_of(asked, each) and each.status == "active"), None)
    if agent is None:
        return None
    want = want_of(asked.question)
    prompt = PROMPT.format(what=" ".join((want.short, want.about)).strip())
    arguments = {"codex_id": agent.codex_id, "prompt": prompt, "background": True}
    done = await call_tool(state_dir, agent.node, agent.principal, caller, ("codex-reply", arguments))
    return done if done.sentence else Done(location=href_of(question_id))
