"""The turn that a call of `codex` or `codex-reply` gives to an agent, as soon as there is an agent to give it to."""

from __future__ import annotations

from msgspec.structs import replace

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.events.translator import Event
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.schema.arguments import TurnArguments
from codex_mcp.mcp.tools.specs import events_of, new_turn
from codex_mcp.team import refusals
from codex_mcp.team.agent import RequestKey
from codex_mcp.team.roster import Member
from codex_mcp.team.work import Assignment, Work
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn


class TeamTurn:
    """A prompt on its way to an agent. `begin` is called by the team; afterwards `begun` is what to follow."""

    def __init__(self, call: Call, arguments: TurnArguments, prompt: str, tool: str) -> None:
        self._call = call
        self._arguments = arguments
        self._prompt = prompt
        self._tool = tool
        self.request: RequestKey | None = None
        """The call that it comes from, if that may be repeated."""
        self.warnings: tuple[str, ...] = ()
        """Sent to the caller as events before the turn begins."""
        self._begun: tuple[Thread, Turn] | None = None

    @property
    def begun(self) -> tuple[Thread, Turn]:
        """The turn, and the thread that it is in."""
        if self._begun is None:
            raise RuntimeError("the turn has not begun")
        return self._begun

    async def begin(self, member: Member, work: Work, settings: CallSettings) -> None:
        """Give the prompt to the agent. Raises Refused."""
        call, arguments = self._call, self._arguments
        call.send_events(events_of(arguments, settings))
        spec = replace(new_turn(arguments, member.agent.cwd), prompt=self._prompt)
        for warning in self.warnings:
            call.event_happened(member.agent.thread_id or "", Event("", {"type": "warning", "message": warning}))
        task = Assignment(spec, call, full_events=call.events is Events.FULL, purpose=self._tool, request=self.request)
        turn = await work.submit(member, task)
        if member.thread is None:
            raise refusals.closed(member.agent)
        self._begun = member.thread, turn
