"""`codex_interrupt` and `codex_review`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import stay_about
from codex_mcp.base.printable import are_waiting
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import ThreadSpec, TurnSpec, plain_id
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.follower import Follower
from codex_mcp.mcp.schema import team_catalogue as catalogue
from codex_mcp.mcp.schema.arguments import CodexArguments
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments
from codex_mcp.mcp.schema.results import Result, refused
from codex_mcp.mcp.schema.review import TeamReviewArguments, team_review_target
from codex_mcp.mcp.schema.team_catalogue import AgentArguments, TeamReplyArguments
from codex_mcp.mcp.schema.team_results import idle_result, interrupt_result, quiet_result, stopped_result
from codex_mcp.mcp.tools.dispatch import Bodies
from codex_mcp.mcp.tools.one_turn import OneTurn
from codex_mcp.mcp.tools.review_checks import check_review
from codex_mcp.mcp.tools.specs import reply_turn
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent
from codex_mcp.team.records.audit_entry import AuditOutcome
from codex_mcp.team.team import Team
from codex_mcp.threads.record import Stopped
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import QueueFull


class TurnTools:
    def __init__(self, team: Team, threads: Threads, settings: Settings, follower: Follower) -> None:
        self._team = team
        self._threads = threads
        self._settings = settings
        self._follower = follower
        self._time_limit = settings.team.turn_timeout or None
        self._once = OneTurn(threads, settings, follower, partial(_check, settings.core.codex_home))

    def bodies(self) -> Bodies:
        return [(catalogue.CODEX_INTERRUPT, self._interrupt), (catalogue.CODEX_REVIEW, self._review)]

    async def _review(self, call: Call, arguments: TeamReviewArguments) -> Result:
        """Review the changes in a folder, in a thread that is no agent's."""
        spec = TurnSpec(review=team_review_target(arguments), time_limit=self._time_limit)
        setup = CodexArguments(prompt="", model=arguments.model, cwd=arguments.cwd)
        member = None
        if arguments.references:
            reference = await self._team.directory.find_one(arguments.references, call.principal)
            agent = await self._team.directory.find(reference, call.principal)
            member = self._team.roster.called(agent.codex_id, call.principal)
            setup = replace(setup, cwd=agent.cwd, environment=agent.environment)
        await self._team.work.check_review(member)
        opened = partial(self._team.work.review_opened, member=member)
        return await self._once.run(call, setup, spec, arguments, opened)

    def is_review(self, references: Sequence[str]) -> bool:
        """Whether these name the thread of a review, which is no agent."""
        return len(references) == 1 and self._team.work.is_review(plain_id(references[0]))

    async def reply(self, call: Call, arguments: TeamReplyArguments) -> Result:
        """Go on with the conversation of a review. Raises BadArguments, Refused, CoreError."""
        if arguments.request_id is not None:
            raise BadArguments(f"{BAD_ARGUMENTS}`request_id` is for agents, and this thread is that of a review")
        async with call.opening():
            thread = await self._threads.find(arguments.references[0], call.principal)
        await self._team.work.check_team()
        stay_about(call.subject._replace(thread=thread.id))
        call.send_events(arguments.events)
        spec = replace(reply_turn(arguments, thread.cwd), time_limit=self._time_limit)
        try:
            turn = thread.submit(spec, call, full_events=call.events is Events.FULL)
        except QueueFull as exc:
            raise Refused(f"Thread {thread.id} is busy, and {are_waiting(exc.limit)}.") from exc
        return await self._follower.follow(call, thread, turn, arguments)

    async def _stop_review(self, call: Call, thread_id: str) -> Result:
        thread = self._threads.known(thread_id, call.principal)
        turn = None if thread is None else thread.current
        if thread is None or turn is None or turn.ended:
            return refused(f"Thread {thread_id} runs no turn; nothing was stopped.")
        thread.cancel(turn)
        await turn.wait()  # no longer than the grace period
        if not self._follower.waiter.is_waited_for(call.caller, thread.id):
            self._follower.waiter.report(call, [turn])
        return stopped_result(turn.outcome)

    async def _interrupt(self, call: Call, arguments: AgentArguments) -> Result:
        """Stop the current turn of an agent, whoever asked for it."""
        if self.is_review(arguments.references):
            return await self._stop_review(call, plain_id(arguments.references[0]))
        reference = await self._team.directory.find_one(arguments.references, call.principal)
        agent, thread = await self._running(reference, call.principal)
        turn = None if thread is None else thread.current
        besides = Stopped() if thread is None else thread.own.going_on()
        if thread is None or ((turn is None or turn.ended) and not besides):
            self._audit(agent, call, "nothing to stop")
            return idle_result(agent)
        if turn is not None:
            thread.cancel(turn)
        # Counted now: once the turn has ended, the first of them runs and waits no more.
        next_ones = [each for each in thread.unfinished() if each is not turn and each.joins is None]
        await thread.own.quiesce()
        if turn is None:
            self._audit(agent, call, "what Codex began by itself")
            return quiet_result(agent, besides)
        await turn.wait()  # no longer than the grace period
        self._audit(agent, call, turn.spec.prompt)
        if not self._is_waited_for(call, agent, turn):
            self._follower.waiter.report(call, [turn])
        return interrupt_result(agent, turn.outcome, len(next_ones), besides)

    async def _running(self, reference: str, principal: str) -> tuple[Agent, Thread | None]:
        """The agent, and its thread if this server runs it. Raises TeamRefused if another one does."""
        agent = await self._team.directory.find(reference, principal)
        member = self._team.roster.called(agent.codex_id, principal)
        if member is not None:
            return member.agent, member.thread
        if not agent.is_closed and (owner := await self._team.directory.living_owner(agent)) is not None:
            raise refusals.owned_elsewhere(agent, owner)
        return agent, None

    def _is_waited_for(self, call: Call, agent: Agent, turn: Turn) -> bool:
        """A wait of the same caller is about to return the end of this turn."""
        return any(self._follower.waiter.is_waited_for(call.caller, key) for key in (agent.codex_id, turn.thread_id))

    def _audit(self, agent: Agent, call: Call, what: str) -> None:
        self._team.work.audit(
            agent, catalogue.CODEX_INTERRUPT.name, AuditOutcome.OK, request_id=call.label, what=what or None
        )


def _check(codex_home: str, thread: ThreadSpec, turn: TurnSpec) -> None:
    """Folders of an exec-server are not seen from here."""
    if turn.review is not None and thread.cwd is not None and not is_elsewhere(thread.environment):
        check_review(thread.cwd, turn.review, codex_home)
