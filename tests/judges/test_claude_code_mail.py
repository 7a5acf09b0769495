"""The real Claude Code as the lead of an agent team: its SendMessage reaches our agents, and their answers reach it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import Plan, Say, Step, Use, Used
from tests.support.clients.claude_code import codex
from tests.support.clients.claude_team import SPAWN, TEAMMATE, Lead, claude_lead, said_to, send_message
from tests.support.mail.folders import until
from tests.support.servers.mcp_server import Setup
from tests.support.team.scenes import TEAM_SCRIPT, heard
from tests.support.team.team_server import say

AGENT = codex(say("ready"), identity="dev")

QUESTION = send_message("dev", "[[scene: answer]]")

ANSWER = "The parser is fine."


class Conversation:
    """What the lead's model was told, request by request, and the next step by the number of tool results."""

    def __init__(self, steps: dict[int, Step]) -> None:
        self._steps = steps
        self.lead: Lead
        self._heard = asyncio.Event()

    async def plan(self, used: list[Used]) -> Step:
        self._heard.set()
        if TEAMMATE in str(self.lead.model.requests[-1]["messages"][0]):
            return Say("I am here.")
        step = self._steps.get(len(used), Say("I wait."))
        if isinstance(step, Use) and step.tool == "SendMessage":
            await until(lambda: step.arguments["to"] in self.lead.members())
        return step

    async def until_told(self, text: str) -> str:
        """Wait until a request tells the model this; return all that its last message says."""
        while True:
            found = [said for said in map(said_to, self.lead.model.requests) if text in said]
            if found:
                return found[0]
            self._heard.clear()
            await self._heard.wait()


@contextlib.asynccontextmanager
async def lead_with_agents(folder: Path, conversation: Conversation) -> AsyncIterator[tuple[Lead, ScriptedModel]]:
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as agents:
        setup = Setup(folder, agents.codex_overrides(), command="serve")
        command, *args = setup.argv()
        plan: Plan = conversation.plan
        async with claude_lead(setup, {"command": command, "args": args, "env": setup.env()}, plan) as lead:
            conversation.lead = lead
            yield lead, agents


async def test_its_message_begins_a_turn_of_our_agent_whose_answer_is_shown_to_its_model(tmp_path: Path) -> None:
    conversation = Conversation({0: SPAWN, 1: AGENT, 2: QUESTION})
    async with lead_with_agents(tmp_path, conversation) as (lead, agents):
        told = await conversation.until_told(ANSWER)
        assert f'<teammate-message teammate_id="dev" summary="the parser">\n{ANSWER}\n</teammate-message>' in told
        assert "[[scene: answer]]" in heard(agents)
        assert set(lead.members()) == {"team-lead", "mate", "dev"}
    assert not list(lead.teams.glob("session-*"))


async def test_a_lead_that_does_not_look_into_its_inbox_is_told_of_the_answer_over_its_socket(tmp_path: Path) -> None:
    """It has no teammate of its own."""
    conversation = Conversation({0: AGENT, 1: QUESTION})
    async with lead_with_agents(tmp_path, conversation) as (lead, _agents):
        told = await conversation.until_told("Mail from dev")
        inbox = lead.team / "inboxes/team-lead.json"
        (message,) = json.loads(inbox.read_text())
        assert message["text"] == ANSWER
        line = f'Mail from dev: "the parser" (message {message["metadata"]["atm"]["messageId"]}).'
        assert f"{line}\nIf it is not shown to you, read it in {inbox}." in told


async def test_it_understands_that_an_agent_has_shut_down_as_it_asked(tmp_path: Path) -> None:
    request = send_message("dev", {"type": "shutdown_request", "reason": "enough"})
    conversation = Conversation({0: SPAWN, 1: AGENT, 2: request})
    async with lead_with_agents(tmp_path, conversation) as (lead, _agents):
        told = await conversation.until_told("shutdown_approved")
        # Of an answer that it cannot match with its request, it says verified="false".
        assert '<teammate-message teammate_id="dev" summary="has shut down">\n{"type":"shutdown_approved",' in told
        assert 'verified="false"' not in told
        await until(lambda: "dev" not in lead.members())
