"""What the forms of Mail ask for: send, mark as read, deliver now. Tools do it, at the server of the agent."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign, one_line
from codex_mcp.control.server import Caller, Server
from codex_mcp.dashboard.desks.calling import call_tool, tell
from codex_mcp.dashboard.desks.done import Done
from codex_mcp.dashboard.desks.mail import href_of
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts
from codex_mcp.dashboard.views.forms import Posted
from codex_mcp.wire import control
from codex_mcp.wire.control_mail import LetterFacts

LONGEST: Final = 100_000
"""Characters of a message that is written on the page."""


class _To(Struct, frozen=True):
    """Who gets a message, and the server that takes it."""

    name: str
    node: str
    principal: str


async def send(state_dir: str, facts: FleetFacts, posted: Posted, writes_as: str, caller: Caller) -> Done:
    text = (posted.get("text") or [""])[0][:LONGEST].strip()
    try:
        to = _recipient(facts, (posted.get("to") or [""])[0], caller)
    except Refused as exc:
        return Done(422, str(exc))
    if not text:
        return Done(422, "Write something first.")
    if any(each.identity == writes_as and each.status == "active" for each in facts.agents):
        return Done(422, f"{writes_as} is the name of an agent: nobody else writes as it. ATM_IDENTITY names you.")
    arguments = {"identity": writes_as, "to": to.name, "message": text, "urgent": bool(posted.get("urgent"))}
    done = await call_tool(state_dir, to.node, to.principal, caller, ("atm_send", arguments))
    return done if done.sentence else _back(posted)


async def mark_read(state_dir: str, facts: FleetFacts, message_id: str, writes_as: str, caller: Caller) -> Done | None:
    letter = next((each for each in facts.letters if each.id == message_id and each.to == writes_as), None)
    if letter is None:
        return None
    to = _To(letter.to, _node_of(facts, letter), caller.principal or letter.principal)
    arguments = {"identity": writes_as, "message_id": message_id, "mark_read": True}
    done = await call_tool(state_dir, to.node, to.principal, caller, ("atm_read", arguments))
    return done if done.sentence else Done(location=href_of(letter))


async def deliver(state_dir: str, facts: FleetFacts, message_id: str, caller: Caller) -> Done | None:
    letter = next((each for each in facts.letters if each.id == message_id and each.can_be_delivered), None)
    if letter is None or (agent := _agent(facts, letter.agent)) is None:
        return None

    async def told(server: Server) -> None:
        await server.call(control.DELIVER, control.Deliver(agent.codex_id), changes=True)

    done = await tell(state_dir, agent.node, caller, told)
    return done if done.sentence else Done(location=href_of(letter))


def _agent(facts: FleetFacts, codex_id: str) -> AgentFacts | None:
    return next((each for each in facts.agents if each.codex_id == codex_id), None)


def _back(posted: Posted) -> Done:
    """The conversation in which it was written."""
    chosen = (posted.get("chosen") or [""])[0]
    return Done(location=f"/ui/mail/{quote(chosen, safe='')}" if chosen else "/ui/mail")


def _recipient(facts: FleetFacts, value: str, caller: Caller) -> _To:
    """An agent by its codex_id or identity, else a name of a team. Raises Refused."""
    running = [each for each in facts.agents if each.status == "active" and each.owner is not None]
    for agent in running:
        if value in (agent.codex_id, agent.identity):
            return _To(agent.identity, agent.node, agent.principal)
    letter = next((each for each in facts.letters if value in (each.to, f"{each.to}@{each.team}")), None)
    if letter is not None:
        return _To(f"{letter.to}@{letter.team}", _node_of(facts, letter), caller.principal or letter.principal)
    known = sorted({each.identity for each in running} | {each.to for each in facts.letters})
    raise Refused(f"Nobody is called {foreign(value, 100)} here. There are: {one_line(', '.join(known)) or 'none'}.")


def _node_of(facts: FleetFacts, letter: LetterFacts) -> str:
    """A server of the team; any, if none says so."""
    nodes = [each.key for each in facts.health if each.team == letter.team] or [each.key for each in facts.health]
    return nodes[0] if nodes else ""
