"""The tools of a team: start, continue, wait for, list and close named agents, and answer their questions."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Final, TypeAlias

from msgspec import Raw

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.logs import stay_about
from codex_mcp.base.settings.groups import Settings
from codex_mcp.codex.core import Event
from codex_mcp.mcp.calls.call import Call, GivenUp
from codex_mcp.mcp.calls.follower import Follower, Said
from codex_mcp.mcp.calls.stored_answers import StoredAnswers
from codex_mcp.mcp.calls.team_waiting import TeamView, closed_facts
from codex_mcp.mcp.calls.waiting import Wait
from codex_mcp.mcp.hop.forwarding import Forwarding, Split
from codex_mcp.mcp.schema import team_catalogue as catalogue
from codex_mcp.mcp.schema.arguments import TurnArguments
from codex_mcp.mcp.schema.catalogue import NoArguments, Tool
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments
from codex_mcp.mcp.schema.results import GoesOn, Result, ToolResult, turn_result
from codex_mcp.mcp.schema.team_arguments import (
    GO_ON,
    Way,
    checked_start,
    request_of,
    way_of,
)
from codex_mcp.mcp.schema.team_catalogue import (
    AgentArguments,
    StartArguments,
    TeamReplyArguments,
    TeamWaitArguments,
    ThreadsArguments,
)
from codex_mcp.mcp.schema.team_results import (
    close_result,
    refused_by_team,
    status_result,
    threads_result,
)
from codex_mcp.mcp.tools import hook_tools
from codex_mcp.mcp.tools.approval_tools import ApprovalTools
from codex_mcp.mcp.tools.change_tools import ChangeTools
from codex_mcp.mcp.tools.dispatch import Around, Bodies, Tools
from codex_mcp.mcp.tools.mail_tools import MailTools
from codex_mcp.mcp.tools.session_tools import SessionTools
from codex_mcp.mcp.tools.specs import in_default_folder
from codex_mcp.mcp.tools.team_orders import assigned, forked, ordered
from codex_mcp.mcp.tools.turn_tools import TurnTools
from codex_mcp.team import refusals
from codex_mcp.team.agent import names_of
from codex_mcp.team.forking import fork_source
from codex_mcp.team.profile.roles import Role
from codex_mcp.team.records.audit_entry import AuditOutcome
from codex_mcp.team.records.summaries import SUMMARY_PROMPT
from codex_mcp.team.refusals import RunElsewhere, TeamRefused
from codex_mcp.team.requests import Repeat
from codex_mcp.team.roster import Member
from codex_mcp.team.team import Team
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn

logger = logging.getLogger(__name__)

Asked: TypeAlias = StartArguments | TeamReplyArguments
Begun: TypeAlias = tuple[Thread, Turn]

NO_SESSIONS: Final = f"{BAD_ARGUMENTS}named sessions are not offered here; start codex-mcp serve with --tools all"
AGENT_OR_SESSION: Final = (
    f"{BAD_ARGUMENTS}`sessionId` excludes `identity`, `codex_id`, `agent_file`, `role`, `tag` and `request_id`, since "
    "a session is not an agent"
)


class TeamTools:
    def __init__(self, threads: Threads, settings: Settings, key: bytes, team: Team, roles: Mapping[str, Role]) -> None:
        self._threads = threads
        self._settings = settings
        self._team = team
        self._roles = roles
        self._approvals = ApprovalTools(team, threads, self._session)
        self.follower = Follower(threads, settings.calls, key, self.says, lists=True)
        self._stored = StoredAnswers(threads, [SUMMARY_PROMPT])
        self._listed = catalogue.team_tools(settings.sessions.tools)
        self._mail = MailTools(team)
        self._turns = TurnTools(team, threads, settings, self.follower)
        self._changes = ChangeTools(threads, team, settings.core.codex_home)
        self.forwarding = Forwarding(team, threads, key)
        threads.tool_calls.answer_with(self._mail.call_by_agent)
        has_sessions = settings.sessions.tools in catalogue.HAVE_SESSIONS
        self._sessions = SessionTools(threads, settings, self.follower, self._listed) if has_sessions else None

    async def aclose(self) -> None:
        await self.forwarding.aclose()
        await self._team.aclose()
        if self._sessions is not None:
            await self._sessions.aclose()

    def tools(self) -> Tools:
        rows: Bodies = [
            (catalogue.CODEX, self._codex),
            (catalogue.CODEX_REPLY, self._codex_reply),
            (catalogue.CODEX_WAIT, self._codex_wait),
            (catalogue.CODEX_THREADS, self._codex_threads),
            (catalogue.CODEX_STATUS, self._codex_status),
            (catalogue.CODEX_CLOSE, self._codex_close),
            *self._approvals.bodies(),
            *self._changes.bodies(),
            *self._turns.bodies(),
            *self._mail.bodies(),
            *([] if self._sessions is None else self._sessions.bodies()),
        ]
        listed = {tool.name for tool in self._listed}
        offered = {tool.name: (tool, body) for tool, body in rows if tool.name in listed}
        aliases = {alias: offered[tool.name] for alias, tool in catalogue.ALIASES.items() if tool.name in listed}
        around = Around(self._audit, self._write_down, self._elsewhere, self.forwarding)
        hooks = hook_tools.HookTools(self._team, self._threads, self.follower.waiter, self.forwarding)
        name = catalogue.CODEX_UNFINISHED.name
        bodies = {**offered, **aliases, name: (catalogue.CODEX_UNFINISHED, hooks.everywhere)}
        return Tools(bodies, self.follower, self._warm_up, {name: hooks.at_once}, around)

    async def _write_down(self) -> None:
        """Before an answer leaves: what it says is in the audit, and counts in the limits, even if this server dies."""
        session = self._team.session
        if session.is_open:
            await session.writer.keep()
        await session.audit.flush()

    def _warm_up(self) -> None:
        self._threads.supervisor.warm_up()
        self._team.session.open_soon()

    async def _elsewhere(self, call: Call, tool: Tool) -> Result | Raw | None:
        """The answer of the server that runs the agent, which audits the call; here only what it does not answer."""
        try:
            answer = await self.forwarding.call(call, tool)
            if answer is None and tool.name == catalogue.CODEX_WAIT.name and not call.is_forwarded:
                return await self._wait_elsewhere(call, tool)
            return answer
        except TeamRefused as exc:
            self._team.note_call(call.params.name, call.label, call.principal, AuditOutcome.REFUSED, exc)
            return refused_by_team(exc)

    async def _wait_elsewhere(self, call: Call, tool: Tool) -> Result | Raw | None:
        """The result of a wait that is about agents of several servers; None if it is about ours only."""
        given = call.params.arguments or {}
        references = tool.agents_in(given) or None
        if references is None and ("ids" in given or "threadIds" in given):
            return None
        split = await self.forwarding.split(call, references)
        if not split.others:
            return None
        return await self._audit(call, tool, partial(self._wait_everywhere, call, tool, split))

    async def _wait_everywhere(self, call: Call, tool: Tool, split: Split) -> Result:
        arguments: TeamWaitArguments = tool.read(call.params.arguments or {})
        view = TeamView(self._team, self._threads, self._stored, call, split.ours)
        async with self.forwarding.far_wait(call, split) as far:
            brings_answers = call.params.request_state is not None
            if brings_answers and not self.follower.takes_answers(call) and not await far.took_answers():
                self.follower.answered(call)  # says why they are not used
            await far.known(all_of_them=arguments.timeout_seconds == 0)
            wait = Wait(
                view,
                arguments.mode,
                arguments.repeats,
                arguments.timeout_seconds,
                is_named=split.ours is not None,
                far=far,
            )
            own = await self.follower.wait(call, wait, arguments.offset)
            return await self.forwarding.whole(call, far, own) if isinstance(own, ToolResult) else own

    async def _audit(self, call: Call, tool: Tool, run: Callable[[], Awaitable[Result]]) -> Result | Raw:
        """Turn refusals of the team into results, and audit calls that do not audit what they did."""
        note = partial(self._team.note_call, call.params.name, call.label, call.principal)
        try:
            result = await run()
        except TeamRefused as exc:
            if exc.elsewhere is not None and (answer := await self._pass_on(call, exc.elsewhere)) is not None:
                return answer
            note(AuditOutcome.REFUSED, exc)
            return refused_by_team(exc, self._blocked_by(exc, call.principal))
        except (BadArguments, Refused) as exc:
            note(AuditOutcome.REFUSED, exc)
            raise
        except Explained as exc:
            note(AuditOutcome.INTERRUPTED if isinstance(exc, GivenUp) else AuditOutcome.FAILED, exc)
            raise
        if not tool.audits and call.part is None and not call.is_view:
            note(AuditOutcome.OK)
        return result

    async def _pass_on(self, call: Call, found: RunElsewhere) -> Result | Raw | None:
        """The answer of another server that runs the agent, as we have only now found; nothing was done here."""
        try:
            return await self.forwarding.moved(call, found)
        except TeamRefused as exc:
            self._team.note_call(call.params.name, call.label, call.principal, AuditOutcome.REFUSED, exc)
            return refused_by_team(exc)

    def says(self, thread_id: str) -> Said:
        """What results say about a thread, besides its turn."""
        session, member = self._session(thread_id), self._team.roster.of_thread(thread_id)
        names = session or (self._team.roster.names(thread_id) if member is None else member.names)
        warns = [] if member is None else self._team.work.warnings(member)
        warns += self._threads.account.warnings()
        asks, gone = list[str](), ""
        thread = self._threads.open_thread(thread_id)
        if thread is not None:
            own, gone = {} if session else thread.own.described(), thread.gone
            approvals, asks = self._approvals.of(thread, thread.unfinished())
            names = {**names, **own, "approvals": approvals} if approvals else {**names, **own}
        if member is None:
            return Said(names, asks, self._goes_on_without_agent(thread_id), warns)
        goes_on = GoesOn.REPLY_IN_NEW_THREAD if gone else GoesOn.REPLY
        return Said(names, asks, GoesOn.RESUME if member.closing else goes_on, warns)

    def _session(self, thread_id: str) -> Mapping[str, object]:
        return {} if self._sessions is None else self._sessions.names(thread_id)

    def _goes_on_without_agent(self, thread_id: str) -> GoesOn:
        if not self._team.roster.names(thread_id):
            return GoesOn.REPLY if self._team.work.is_review(thread_id) else GoesOn.NO_AGENT
        return GoesOn.OTHER_SERVER if self._team.roster.was_taken_over(thread_id) else GoesOn.RESUME

    def _blocked_by(self, refusal: TeamRefused, principal: str) -> list[str]:
        """The open questions of an agent that refused a prompt because it is busy."""
        codex_id = refusal.facts.get("codex_id") if refusal.why is refusals.Why.BUSY else None
        member = self._team.roster.called(str(codex_id), principal)
        thread = None if member is None else member.thread
        return [] if thread is None else self._approvals.of(thread, thread.unfinished())[1]

    async def _codex(self, call: Call, given: StartArguments) -> Result:
        arguments = checked_start(given)
        if arguments.session_id is not None:
            return await self._in_session(call, arguments)
        way = way_of(arguments)
        return await self._once(call, arguments, lambda: self._begin(call, arguments, way))

    async def _once(self, call: Call, arguments: Asked, begin: Callable[[], Awaitable[Begun]]) -> Result:
        """Begin a turn and wait for it, unless the call repeats an earlier one."""
        request = request_of(arguments)
        async with call.opening(), self._team.requests.one_at_a_time(call.principal, request):
            repeat = None if request is None else await self._team.requests.find_repeat(call.principal, request)
            if repeat is None:
                begun = await begin()
        if repeat is not None:
            return await self._repeat(call, repeat, arguments)
        result = await self._follow(call, begun, arguments)
        if request is not None:
            await self._team.session.writer.flush()  # a repeat must find this answer, whatever happens to us
        return result

    async def _in_session(self, call: Call, arguments: StartArguments) -> Result:
        if self._sessions is None:
            raise BadArguments(NO_SESSIONS)
        if arguments.has_agent:
            raise BadArguments(AGENT_OR_SESSION)
        result = await self._sessions.codex(call, arguments, self._settings.team.turn_timeout or None)
        self._team.note_call(catalogue.CODEX.name, call.label, call.principal, AuditOutcome.OK)
        return result

    async def _begin(self, call: Call, arguments: StartArguments, way: Way) -> Begun:
        if way is not Way.PROMPT:
            return await self._start(call, arguments, way, arguments.codex_id)
        async with self._team.first_call.around(arguments.identity, call.principal) as reference:
            return await self._start(call, arguments, way, reference)

    async def _start(self, call: Call, arguments: StartArguments, way: Way, reference: str | None) -> Begun:
        if reference is not None:
            return await self._go_on(call, arguments, reference, arguments.prompt or GO_ON, resume=True)
        if arguments.fork_from is not None:
            source = await fork_source(self._team.directory, arguments.fork_from, call.principal)
            order = await in_thread(forked, arguments, source, call.principal, self._settings)
        else:
            arguments = await in_default_folder(call, arguments, self._settings.core)
            order = await in_thread(ordered, arguments, way, call.principal, self._settings, self._roles)
        await self._team.work.check_team()
        async with self._team.starting.start(order) as member:
            return await self._submit(call, arguments, member, order.prompt, order.warnings)

    async def _go_on(self, call: Call, arguments: Asked, reference: str, prompt: str, *, resume: bool) -> Begun:
        async with self._team.resuming.find(reference, call.principal, resume=resume) as member:
            if arguments.auto_mail is not None:
                self._team.switch_mail(member, on=arguments.auto_mail)
            return await self._submit(call, arguments, member, prompt)

    async def _submit(
        self, call: Call, arguments: Asked, member: Member, prompt: str, warnings: Iterable[str] = ()
    ) -> Begun:
        task = assigned(call, arguments, member.agent.cwd, prompt)
        for warning in warnings:
            call.event_happened(member.agent.thread_id or "", Event("", {"type": "warning", "message": warning}))
        turn = await self._team.work.submit(member, task)
        if member.thread is None:
            raise refusals.closed(member.agent)
        return member.thread, turn

    async def _repeat(self, call: Call, repeat: Repeat, arguments: Asked) -> Result:
        """Answer a repeated call: wait for its turn, or return its answer again."""
        done = {"request_id": call.label, "what": f"repeats request {arguments.request_id}"}
        self._team.work.audit(repeat.agent, call.params.name, AuditOutcome.OK, **done)
        thread = None if repeat.member is None else repeat.member.thread
        if repeat.turn is not None and thread is not None:
            stay_about(call.subject._replace(thread=thread.id))
            return await self.follower.follow(call, thread, repeat.turn, arguments)
        return turn_result(
            repeat.outcome, names_of(repeat.agent), goes_on=_goes_on_after(repeat), reader=self.follower.reader(call)
        )

    async def _codex_reply(self, call: Call, arguments: TeamReplyArguments) -> Result:
        if self._turns.is_review(arguments.references):
            return await self._turns.reply(call, arguments)
        return await self._once(call, arguments, lambda: self._reply(call, arguments))

    async def _reply(self, call: Call, arguments: TeamReplyArguments) -> Begun:
        reference = await self._team.directory.find_one(arguments.references, call.principal)
        return await self._go_on(call, arguments, reference, arguments.prompt, resume=False)

    async def _follow(self, call: Call, begun: Begun, arguments: TurnArguments) -> Result:
        thread, turn = begun
        stay_about(call.subject._replace(thread=thread.id))
        result = await self.follower.follow(call, thread, turn, arguments)
        if not turn.ended:
            self._team.work.turn_goes_on(thread, turn)
        return result

    async def _codex_wait(self, call: Call, arguments: TeamWaitArguments) -> Result:
        part = call.part
        asked, timeout = (arguments.references, arguments.timeout_seconds) if part is None else (part.ids, 0.0)
        view = TeamView(self._team, self._threads, self._stored, call, asked)
        wait = Wait(view, arguments.mode, arguments.repeats, timeout, is_named=bool(asked), part=part)
        return await self.follower.wait(call, wait, arguments.offset)

    async def _codex_threads(self, call: Call, arguments: ThreadsArguments) -> Result:
        agents = [agent for agent in await self._team.directory.agents(call.principal) if arguments.shows(agent)]
        own = {
            agent.codex_id: thread.own.described()
            for agent in agents
            if agent.is_active and (thread := self._threads.open_thread(agent.thread_id or "")) is not None
        }
        return threads_result(agents, int(arguments.limit), own)

    async def _codex_status(self, call: Call, _: NoArguments) -> Result:
        asked = self._approvals.count(call.principal)
        return status_result({**await self._team.status(call.principal), "pending_approvals": asked})

    async def _codex_close(self, call: Call, arguments: AgentArguments) -> Result:
        reference = await self._team.directory.find_one(arguments.references, call.principal)
        closed = await self._team.closing.close(reference, call.principal, call.label)
        if not self.follower.waiter.is_waited_for(call.caller, closed.agent.codex_id):
            self.follower.waiter.report(call, (), [fact.news.key for fact in closed_facts(closed.agent)])
        return close_result(closed.agent, closed.how, closed.left)


def _goes_on_after(repeat: Repeat) -> GoesOn:
    if repeat.is_elsewhere:
        return GoesOn.OTHER_SERVER
    return GoesOn.RESUME if repeat.agent.is_closed else GoesOn.REPLY
