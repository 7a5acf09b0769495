"""The agents of a team that a wait is about: their turns and questions, and whether they are paused or closed."""

from __future__ import annotations

from collections.abc import Iterable

from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.stored_answers import StoredAnswers
from codex_mcp.mcp.calls.waiting import AgentNews, WatchedAgent, own_turns, turns_of
from codex_mcp.mcp.news import News, NewsKind
from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent, names_of
from codex_mcp.team.roster import Member
from codex_mcp.team.team import Team
from codex_mcp.threads.changes import ANY_THREAD
from codex_mcp.threads.threads import Threads


class TeamView:
    """The agents with these references, or those that the caller gave a prompt."""

    def __init__(
        self, team: Team, threads: Threads, stored: StoredAnswers, call: Call, references: Iterable[str] | None
    ) -> None:
        self._threads = threads
        self._team = team
        self._stored = stored
        self._answers: dict[str, AgentNews] = {}
        self._call = call
        self._references = None if references is None else tuple(dict.fromkeys(references))
        self._recorded: dict[str, Agent | None] = {}
        self._team_tokens = 0

    @property
    def early(self) -> tuple[str, ...]:
        """Any agent's turn may use up the tokens of the team."""
        return (ANY_THREAD,) if self._team.work.has_team_limit else ()

    async def prepare(self) -> None:
        """Read the records of agents that do not run here. Raises TeamRefused, BadArguments."""
        self._team_tokens = await self._team.work.team_tokens()
        self._recorded = {}
        while missing := [each for each in self._references or () if self._member(each) is None]:
            unread = [reference for reference in missing if reference not in self._recorded]
            if not unread:
                return
            for reference in unread:
                self._recorded[reference] = await self._read(reference)

    async def _read(self, reference: str) -> Agent | None:
        try:
            agent = await self._team.directory.find(reference, self._call.principal)
        except refusals.TeamRefused:
            if self._threads.known(reference, self._call.principal) is None:
                raise
            return None  # the thread of a review
        is_ours = self._team.roster.called(agent.codex_id, self._call.principal) is not None
        if is_ours or (agent.thread_id and self._threads.open_thread(agent.thread_id)):
            return agent
        owner = None if agent.is_closed else await self._team.directory.living_owner(agent)
        if owner is not None:
            raise refusals.owned_elsewhere(agent, owner)
        if agent.thread_id and agent.codex_id not in self._answers and self._stored.is_earlier(agent.last_active):
            found = await self._stored.newest(agent.thread_id, names_of(agent))
            if found is not None:
                self._answers[agent.codex_id] = found
        if agent.is_closed or agent.codex_id in self._answers:
            return agent
        raise BadArguments(f"Agent {reference} has no turn that this server knows; codex-reply continues it.")

    def _member(self, reference: str) -> Member | None:
        return self._team.roster.called(reference, self._call.principal)

    def watched(self) -> list[WatchedAgent]:
        if self._references is not None:
            return [self._named(reference) for reference in self._references]
        members = [
            (self._team.roster.of_thread(thread.id), thread, turns)
            for thread, turns in own_turns(
                self._threads, self._call.principal, self._call.caller, self._call.client_name
            )
        ]
        return [WatchedAgent((thread.id,), turns, self._facts(member)) for member, thread, turns in members]

    def _named(self, reference: str) -> WatchedAgent:
        member = self._member(reference)
        agent = member.record if member is not None else self._recorded.get(reference)
        if agent is None:  # a thread that is no agent's; or closed just now, and time is up
            plain = self._threads.known(reference, self._call.principal)
            return WatchedAgent((reference,), () if plain is None else turns_of(plain, self._call.caller))
        thread = None if agent.thread_id is None else self._threads.known(agent.thread_id, self._call.principal)
        turns = () if thread is None else turns_of(thread, self._call.caller)
        facts = self._facts(member) if member is not None else self._inactive(agent)
        return WatchedAgent(tuple(key for key in (agent.codex_id, agent.thread_id) if key), turns, facts)

    def _inactive(self, agent: Agent) -> tuple[AgentNews, ...]:
        answer = self._answers.get(agent.codex_id)
        return (*((answer,) if answer is not None else ()), *closed_facts(agent))

    def _facts(self, member: Member | None) -> tuple[AgentNews, ...]:
        return () if member is None else (*people_facts(member), *self._paused(member))

    def _paused(self, member: Member) -> tuple[AgentNews, ...]:
        if member.thread is None or not member.thread.idle:
            return ()
        pause = self._team.work.pause(member, self._team_tokens)
        if pause is None:
            return ()
        # It can be paused for another reason only after another turn, or if the account has reached its limit.
        news = News(NewsKind.PAUSE, f"{member.agent.codex_id} paused after {member.agent.turns} by {pause.by}")
        until = {} if pause.until is None else {"paused_until": pause.until}
        told = {**member.names, "threadId": member.thread_id, "status": "paused", **until, "content": pause.reason}
        return (AgentNews(news, told),)


def people_facts(member: Member) -> tuple[AgentNews, ...]:
    names = {**member.names, "threadId": member.thread_id}
    return tuple(AgentNews(News(NewsKind.PERSON, act.key), {**names, **act.told}) for act in member.people)


def closed_facts(agent: Agent) -> tuple[AgentNews, ...]:
    if not agent.is_closed:
        return ()
    told: dict[str, object] = {
        **names_of(agent),
        "threadId": agent.thread_id,
        "status": agent.status,
        "content": f'The agent is closed. codex {{"codex_id": "{agent.codex_id}", "prompt": …}} resumes it.',
    }
    return (AgentNews(News(NewsKind.CLOSE, f"{agent.codex_id} closed at {agent.last_active}"), told),)
