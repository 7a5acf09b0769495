"""`codex_approvals`: what agents, reviews and named sessions of this server ask, listed and answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.mcp.asking.elicitation import client_question
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.schema import team_catalogue as catalogue
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments
from codex_mcp.mcp.schema.results import Result
from codex_mcp.mcp.schema.team_catalogue import ApprovalsArguments
from codex_mcp.mcp.schema.team_results import (
    Answered,
    OpenApproval,
    agent_names,
    approvals_result,
    listed_question,
)
from codex_mcp.mcp.tools.dispatch import Bodies
from codex_mcp.team import refusals
from codex_mcp.team.agent import AskedElsewhere
from codex_mcp.team.records.audit_entry import AuditOutcome
from codex_mcp.team.team import Team
from codex_mcp.threads.questions.answers import NOT_DECIDED, Given, decision_in
from codex_mcp.threads.questions.board import Answer, Entry, Verdict, Via, closing, turn_name_of
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn

LISTS: Final = "codex_approvals without arguments lists those that are."
OTHERS: Final = LISTS[0].upper() + LISTS[1:]


class ApprovalTools:
    def __init__(
        self, team: Team, threads: Threads, session_names: Callable[[str], Mapping[str, object]] = lambda _: {}
    ) -> None:
        """`session_names` are the names of a thread as that of a named session; empty if it is none."""
        self._team = team
        self._threads = threads
        self._session_names = session_names

    def bodies(self) -> Bodies:
        return [(catalogue.CODEX_APPROVALS, self._codex_approvals)]

    def count(self, principal: str) -> int:
        """How many questions are listed."""
        return len(self._listed(principal))

    def of(self, thread: Thread, turns: Sequence[Turn]) -> tuple[list[dict[str, object]], list[str]]:
        """The listed questions of these turns, and all their open ones in words, each with how to answer it."""
        approvals = self._of(thread, turns)
        listed = [approval.question for approval in approvals]
        asked = [question for turn in turns for question in turn.parked.asked if question not in listed]
        described = [approval.described() for approval in approvals]
        return described, [*map(listed_question, described), *map(client_question, asked)]

    def _of(self, thread: Thread, turns: Sequence[Turn]) -> list[OpenApproval]:
        listed = [question for turn in turns for question in turn.parked.open.values()]
        names = self._names(thread) if listed else {}
        return [OpenApproval(names, question) for question in listed]

    def _names(self, thread: Thread) -> Mapping[str, object]:
        member = self._team.roster.of_thread(thread.id)
        if member is not None:
            return agent_names(member.agent)
        session = self._session_names(thread.id).get("session")
        named = {"sessionId": session["id"]} if isinstance(session, Mapping) else {}
        return {"threadId": thread.id, **named}

    def _listed(self, principal: str) -> list[OpenApproval]:
        return [each for thread in self._threads.of(principal) for each in self._of(thread, thread.unfinished())]

    async def _codex_approvals(self, call: Call, arguments: ApprovalsArguments) -> Result:
        if arguments.id is None:
            self._note(call)
            return await self._result(call.principal)
        if arguments.decision is None and arguments.content is None:
            raise BadArguments(f"{BAD_ARGUMENTS}{NOT_DECIDED}")
        entry = self._threads.board.find(arguments.id)
        if entry is not None and entry.principal == call.principal:
            return await self._decide(call, arguments, entry)
        for asked in await self._team.directory.asked_elsewhere(call.principal):
            if asked.id == arguments.id:
                return await self._answer_elsewhere(call, arguments, asked)
        raise BadArguments(f"No question {arguments.id} is open; {LISTS}")

    async def _answer_elsewhere(self, call: Call, arguments: ApprovalsArguments, asked: AskedElsewhere) -> Result:
        """The server that runs the agent decides; to it, we are a client of this call's principal."""
        from codex_mcp.control.failures import CannotReach, Why  # noqa: PLC0415  few calls need these
        from codex_mcp.mcp.control.elsewhere import give_elsewhere  # noqa: PLC0415  see above

        given = Given(arguments.decision, arguments.reason, arguments.content)
        try:
            verdict = await give_elsewhere(self._team.state_dir, asked, given, call.principal, call.client_name)
        except CannotReach as exc:
            node = await self._team.directory.living_owner(asked.agent) if exc.why is Why.ENDED else None
            if node is not None:  # not in our folder, but on another machine, to which the whole call is passed on
                raise refusals.owned_elsewhere(asked.agent, node) from exc
            raise refusals.asked_elsewhere(asked, str(exc)) from exc
        if not verdict.used:
            raise BadArguments(f"No question {asked.id} is open any more. {verdict.sentence} {OTHERS}")
        done = {"request_id": call.label, "what": verdict.decision, "by": verdict.by or None, "via": verdict.via}
        self._team.work.audit(asked.agent, catalogue.CODEX_APPROVALS.name, AuditOutcome.OK, **done)
        return await self._result(call.principal, Answered(asked.id, agent_names(asked.agent)))

    async def _decide(self, call: Call, arguments: ApprovalsArguments, entry: Entry) -> Result:
        if entry.receipt is not None:
            told = closing(entry.receipt, self._threads.board.now())
            raise BadArguments(f"No question {entry.id} is open any more. {told} {OTHERS}")
        thread = next(
            (each for each in self._threads.of(call.principal) if each.turn_named(turn_name_of(entry.id))), None
        )
        # One that is not listed is asked of its client.
        if thread is None or entry.id not in {each.question.id for each in self._of(thread, thread.unfinished())}:
            raise BadArguments(f"No question {entry.id} is open; {LISTS}")
        try:
            decision = decision_in(entry.question, Given(arguments.decision, arguments.reason, arguments.content))
        except Refused as exc:
            raise BadArguments(f"{BAD_ARGUMENTS}{exc}") from exc
        verdict = self._threads.board.decide(entry.id, Answer(decision, call.client_name, Via.CODEX_APPROVALS))
        assert isinstance(verdict, Verdict)
        self._note(call, thread, verdict)
        return await self._result(call.principal, Answered(entry.id, self._names(thread)))

    def _note(self, call: Call, thread: Thread | None = None, verdict: Verdict | None = None) -> None:
        """Write the call into the audit: what it has decided, or that it only listed."""
        name, member = catalogue.CODEX_APPROVALS.name, None
        if thread is not None:
            member = self._team.roster.of_thread(thread.id)
        if member is None or verdict is None:
            self._team.note_call(name, call.label, call.principal, AuditOutcome.OK)
            return
        done = {"request_id": call.label, "what": verdict.decision, "by": verdict.by, "via": verdict.via}
        self._team.work.audit(member.agent, name, AuditOutcome.OK, **done)

    async def _result(self, principal: str, answered: Answered | None = None) -> Result:
        elsewhere = await self._team.directory.asked_elsewhere(principal)
        return approvals_result(self._listed(principal), elsewhere, answered)
