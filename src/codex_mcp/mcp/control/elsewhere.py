"""Answers to questions of agents that another server of the state folder runs, through its control socket."""

from __future__ import annotations

import msgspec

from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import refused
from codex_mcp.control.questions import NotUsed, give_answer
from codex_mcp.control.server import Caller, connect_server
from codex_mcp.mcp.control.questions import CODEX_APPROVALS
from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.team.agent import AskedElsewhere
from codex_mcp.threads.questions.answers import Given
from codex_mcp.wire import control


async def give_elsewhere(
    state_dir: str, asked: AskedElsewhere, given: Given, principal: str, client: str
) -> control.Verdict:
    """The verdict of the server that runs the agent. Raises CannotReach, or BadArguments if the answer does not fit."""
    caller = Caller(program=CODEX_APPROVALS, person=client, principal=principal)
    node, name = asked.owner.node, f"server process {asked.owner.pid}"
    async with connect_server(state_dir, node, caller, name=name) as (server, _):
        try:
            answer = await server.call(control.QUESTION, control.QuestionNamed(asked.id))
        except RequestFailed as exc:
            raise refused(name, str(exc)) from exc
    question = msgspec.json.decode(answer, type=control.Question)
    content = None if given.content is None else dict(given.content)
    told = control.Given(decision=given.decision, reason=given.reason, content=content)
    try:
        return await give_answer(state_dir, Asked(question, node, name), told, caller)
    except NotUsed as exc:
        raise BadArguments(str(exc)) from exc
