"""Questions of Codex at the control socket: shown, answered, followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import asdict

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign
from codex_mcp.mcp.asking.elicitation import elicitation_params, message_for, saved_by, title_of
from codex_mcp.rpc.errors import RequestFailed, invalid_params, request_failed
from codex_mcp.team.team import Team
from codex_mcp.threads.open_questions import Board
from codex_mcp.threads.questions.answers import Given, decision_in
from codex_mcp.threads.questions.approvals import choices
from codex_mcp.threads.questions.board import Answer, Changed, Entry, Receipt, Via, closing
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.questions.questions import Question
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Request

HOLDING: Final = "holding"

CODEX_APPROVALS: Final = "codex_approvals"

PROGRAMS: Final = {"dashboard": Via.PAGE, CODEX_APPROVALS: Via.CODEX_APPROVALS}
"""By what program an answer comes; any other is one in a terminal."""

MOST_ANSWERED: Final = 20
MOST_BYTES: Final = 256 * 1024
"""Closed questions that a follower is told of at first, and how large they may be together."""

NOT_SHOWN: Final = ("id", "thread_id", "turn_id", "is_old")
"""Fields of a question that are told otherwise, or are nothing to a person."""


class Questions:
    def __init__(self, team: Team, board: Board, may_see: Callable[[str], bool]) -> None:
        """`may_see` tells whether a principal's questions may be seen."""
        self._team = team
        self._board = board
        self._may_see = may_see

    def open_questions(self) -> list[control.Question]:
        return [self.shown(entry) for entry in self._board.open_questions() if self._may_see(entry.principal)]

    def answered(self) -> list[control.Question]:
        closed = self._board.closed_questions(MOST_ANSWERED, MOST_BYTES)
        return [self.shown(entry) for entry in closed if self._may_see(entry.principal)]

    def watch(self, tell: Callable[[str, control.Question], None]) -> Callable[[], None]:
        """Call `tell` with the kind of event for each question that is opened or closed, until it is stopped."""

        def changed(entry: Entry) -> None:
            if self._may_see(entry.principal):
                tell(control.OPENED if entry.receipt is None else control.CLOSED, self.shown(entry))

        return self._board.watch(changed)

    def question(self, request: Request) -> object:
        return self.shown(self._found(msgspec.json.decode(request.params, type=control.QuestionNamed).id))

    def answer(self, request: Request, hello: control.Hello) -> object:
        asked = msgspec.json.decode(request.params, type=control.Answer)
        entry = self._found(asked.id)
        if self._team.session.lease != HOLDING:
            raise request_failed(
                control.UNAVAILABLE, "this server does not hold its lease at the moment: nothing was decided; try again"
            )
        via = PROGRAMS.get(hello.program, Via.TERMINAL)
        answer = Answer(decision_of(entry.question, asked.answer), hello.person, via)
        verdict = self._board.decide(entry.id, answer, digest=asked.digest, key=asked.key)
        if isinstance(verdict, Changed):
            said = "what is asked has changed since it was shown: look again; nothing was decided"
            raise request_failed(control.CHANGED, said, {"digest": verdict.digest})
        return verdict

    def _found(self, question_id: str) -> Entry:
        """Raises RequestFailed, the same for an unknown question and for another principal's."""
        entry = self._board.find(question_id)
        if entry is None or not self._may_see(entry.principal):
            raise unknown(question_id)
        return entry

    def shown(self, entry: Entry) -> control.Question:
        question, receipt = entry.question, entry.receipt
        offers = [
            control.Offer(each.word, title_of(question, each.decision), saved_by(each.decision))
            for each in choices(question)
        ]
        fields = {name: value for name, value in asdict(question).items() if name not in NOT_SHOWN}
        return control.Question(
            id=entry.id,
            kind=question.kind,
            state=entry.state,
            agent=entry.agent,
            thread=entry.thread,
            principal=entry.principal,
            message=message_for(question),
            fields=fields,
            offered=offers,
            form=None if offers else _form(question),
            reason=question.reason,
            asked_at=entry.asked_at,
            deadline=entry.deadline,
            asked_of=[control.AskedOf(each.client, each.since) for each in entry.asked_of],
            digest=entry.digest,
            receipt=None if receipt is None else self._receipt(receipt),
        )

    def _receipt(self, receipt: Receipt) -> control.Receipt:
        return control.Receipt(
            state=receipt.state,
            decision=receipt.word,
            by=receipt.by,
            via=receipt.via,
            at=receipt.at,
            sentence=closing(receipt, self._board.now()),
        )


def unknown(question_id: str) -> RequestFailed:
    return invalid_params(f"no question {foreign(question_id, 100)} is known here")


def _form(question: Question) -> dict[str, object]:
    params = elicitation_params(question, tool_call_id="")
    form = params.get("requestedSchema")
    return form if isinstance(form, dict) else {"url": params.get("url")}


def decision_of(question: Question, given: control.Given) -> Decision:
    """What an answer means. Raises RequestFailed for one that does not fit the question, or was not offered."""
    words = [choice.word for choice in choices(question)]
    if words and given.decision is not None and given.decision not in words:
        raise invalid_params(f"{foreign(given.decision, 100)} is not offered; these are: {', '.join(words)}")
    try:
        return decision_in(question, Given(given.decision, given.reason, given.content))
    except Refused as exc:
        raise invalid_params(str(exc)) from exc
