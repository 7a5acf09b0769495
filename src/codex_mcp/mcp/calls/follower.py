"""A call follows its turn: to its end, to the client's time limit, or to a question that the client must answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from codex_mcp.access.seal import digest
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.mcp.asking.inputs import (
    RequestState,
    answers_by_place,
    asked_at,
    input_required,
    sealed,
    unsealed,
)
from codex_mcp.mcp.asking.ladder import Obstacle, Unattended
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.waiting import NOTHING, Wait, Waits, question_keys
from codex_mcp.mcp.schema import results
from codex_mcp.mcp.schema.answer_size import WHOLE, Reader
from codex_mcp.mcp.schema.arguments import HowToWait, how_to_wait
from codex_mcp.mcp.schema.results import NOTHING_NEW, GoesOn, Result, WaitReport, at_work, described, wait_result
from codex_mcp.mcp.schema.review import findings_in
from codex_mcp.mcp.schema.task_shapes import TaskName, created_task
from codex_mcp.rpc.errors import RequestFailed, invalid_params
from codex_mcp.threads.questions.board import Answer, Via, closing, turn_name_of
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Outcome, Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn


class Said(Struct, frozen=True):
    """What results say about a thread, besides its turn."""

    names: Mapping[str, object]
    """More fields."""
    asks: list[str]
    """Its open questions in words, each with how to answer it."""
    goes_on: GoesOn
    """How its conversation can be continued."""
    warns: list[str]
    """What to warn of with the end of a turn: limits that are nearly reached."""


Says: TypeAlias = Callable[[str], Said]
"""Gets a thread's id."""


class Follower:
    """Waits for turns on behalf of calls, and builds the results. `key` seals what clients carry for us."""

    def __init__(
        self, threads: Threads, settings: CallSettings, key: bytes, says: Says, *, lists: bool = False
    ) -> None:
        self._threads = threads
        self._settings = settings
        self._key = key
        self.says = says
        self.waiter = Waits(threads)
        self.unattended = Unattended()
        self.lists = lists
        """There is a list of open questions, which one of the tools answers."""

    async def follow(self, call: Call, thread: Thread, turn: Turn, how: HowToWait) -> Result:
        """Wait for a turn as long as its caller wants; return the result."""
        self.waiter.begun(call, turn)
        return await self._follow(call, thread, turn, how)

    async def _follow(self, call: Call, thread: Thread, turn: Turn, how: HowToWait) -> Result:
        patience = 0.0 if how.background else call.patience(how.wait_seconds)
        await call.follow(thread, turn, patience)
        return self._told(call, thread, turn)

    async def wait(self, call: Call, wait: Wait, begin: int = 0) -> Result:
        """Wait for news of several agents; return the result, with answers from the character `begin` on."""
        reader = self.reader(call)
        seen = await self.waiter.wait(call, wait)
        if seen is NOTHING:
            return NOTHING_NEW
        if wait.is_glance:
            return asdict(seen.glance)
        asking = [turn for turn in seen.running if seen.questions.intersection(question_keys(turn))]
        asked = self._input_required(call, [question for turn in asking for question in turn.parked.open.values()])
        if asked is not None:  # the rest is reported when the client returns with its answers
            self.waiter.report(call, (), seen.questions)
            return asked
        self.waiter.report(call, seen.finished, [*seen.questions, *(fact.news.key for fact in seen.facts)])
        stored = [(fact.outcome, fact.told) for fact in seen.facts if fact.outcome is not None]
        share = reader.shared_by(len(seen.finished) + len(stored))
        finished = [self._described(call, turn, share, begin) for turn in seen.finished]
        return wait_result(
            WaitReport(
                finished=finished + [_stored(outcome, names, share, begin) for outcome, names in stored],
                running=[self._at_work(call, turn, reader) for turn in seen.running],
                unchanged=[self._unchanged(call, turn) for turn in seen.unchanged if wait.is_named],
                facts=[(fact.news.kind, fact.told) for fact in seen.facts if fact.outcome is None],
            ),
            reader,
        )

    def _at_work(self, call: Call, turn: Turn, reader: Reader) -> dict[str, object]:
        said = self.says(turn.thread_id)
        if said.asks:
            return self._described(call, turn, replace(reader, chars=None))
        return at_work(self._warned(turn.outcome, (), call.unused(turn)), said.names)

    def _described(self, call: Call, turn: Turn, reader: Reader = WHOLE, begin: int = 0) -> dict[str, object]:
        said, outcome = self.says(turn.thread_id), turn.outcome
        names, outcome = _with_findings(said.names, turn, outcome), self._warned(outcome, said.warns, call.unused(turn))
        return described(outcome, names, said.asks, _uncut_json(turn, reader), begin)

    def _unchanged(self, call: Call, turn: Turn) -> tuple[dict[str, object], GoesOn]:
        return self._described(call, turn), self.says(turn.thread_id).goes_on

    def _told(self, call: Call, thread: Thread, asked_for: Turn) -> Result:
        """The result of a call: its questions, a task that goes on, or the state of its turn."""
        outcome, turn = asked_for.outcome, asked_for.answer
        questions, has_ended = turn.parked.open, turn.ended
        of_others = [key for each in thread.unfinished() for key in each.parked.open if key not in questions]
        self.waiter.report(call, [turn] if has_ended else [], [*questions, *of_others])
        if call.is_cancelled and outcome.status is Status.INTERRUPTED:
            self.waiter.stopped(call, turn)
        asked = self._input_required(call, questions.values())
        if asked is not None:
            return asked
        if outcome.status is Status.RUNNING and call.takes_task:
            created = time.time() - outcome.seconds
            name = TaskName(turn.thread_id, turn.name, call.principal, created)
            return created_task(self._key, name, outcome, self._settings.thread_idle)
        said = self.says(thread.id)
        if not outcome.thread_id:  # an old Codex has refused its first turn, and so given it no id
            said = replace(self.says(""), goes_on=said.goes_on)
        return results.turn_result(
            self._warned(outcome, said.warns, call.unused(turn)),
            _with_findings(said.names, turn, outcome),
            said.asks,
            goes_on=said.goes_on,
            reader=_uncut_json(turn, self.reader(call)),
        )

    def _warned(self, outcome: Outcome, warns: Sequence[str], unused: Sequence[str]) -> Outcome:
        if outcome.status is not Status.RUNNING:
            if outcome.error is not None:
                outcome = self._threads.account.explained(outcome)
            outcome = replace(outcome, warnings=(*outcome.warnings, *warns))
        return replace(outcome, warnings=(*outcome.warnings, *unused))

    def reader(self, call: Call) -> Reader:
        """How much of an answer the call's client gets, and where."""
        return call.reader(self._settings.max_answer_chars)

    def _input_required(self, call: Call, listed: Iterable[Question]) -> Result | None:
        """Those of these questions that the client fetches with its answer, if there are any."""
        questions = [question for question in listed if call.fetches(question)]
        if not questions:
            return None
        state = RequestState(
            asked=asked_at(questions),
            principal=call.principal,
            call=_digest(call),
            expires=time.time() + self._settings.approval_timeout,
            shown=time.time(),
        )
        return input_required(questions, call.request_id, sealed(self._key, state))

    def answered(self, call: Call) -> list[tuple[Thread, Turn]]:
        """Give the client's answers to the turns that asked; return these turns."""
        state = self._state(call)
        turns: dict[str, tuple[Thread, Turn]] = {}
        answers = answers_by_place(state, call.params.input_responses or {})
        for place in state.asked.values():
            thread = self._threads.known(place.thread_id, call.principal)
            turn = thread.turn_named(turn_name_of(place.id)) if thread is not None else None
            if thread is None or turn is None:
                continue
            turns[turn.name] = (thread, turn)
            question = turn.parked.open.get(place.id)
            if question is None and place in answers:
                self._note_unused(call, turn, place.id)
            elif question is not None and place in answers:
                decision = call.answered(question, answers[place], time.time() - state.shown)
                if not isinstance(decision, Obstacle):
                    answer = Answer(decision, call.client_name, Via.INPUT_REQUIRED)
                    self._threads.board.decide(place.id, answer)
            self.waiter.still_open(call, question_keys(turn))
        return list(turns.values())

    def takes_answers(self, call: Call) -> bool:
        """Give the client's answers to the turns of ours that asked; False if they are for another server's."""
        try:
            return bool(self.answered(call))
        except RequestFailed:
            return False

    def _note_unused(self, call: Call, turn: Turn, question_id: str) -> None:
        """Unless the client has sent it before: a request may be repeated."""
        entry = self._threads.board.find(question_id)
        receipt = None if entry is None else entry.receipt
        if receipt is not None and (receipt.by, receipt.via) != (call.client_name, Via.INPUT_REQUIRED):
            why = closing(receipt, self._threads.board.now())
            call.answer_not_used(turn, f"The answer that came with this call was not used. {why}")

    def question_gone(self, call: Call) -> Result:
        """The result for answers whose turn this server does not know any more."""
        place = next(iter(self._state(call).asked.values()))
        return results.refused(f"The question is no longer open ({self.says(place.thread_id).goes_on}).")

    def _state(self, call: Call) -> RequestState:
        state = unsealed(
            self._key,
            call.params.request_state or "",
            principal=call.principal,
            call=_digest(call),
            now=time.time(),
        )
        if state is None:
            raise invalid_params("requestState is not one that this server gave for this call, or it has expired")
        return state

    async def follow_again(self, call: Call, thread: Thread, turn: Turn) -> Result:
        """Go on waiting for a turn whose question was answered, as long as the caller wants."""
        return await self._follow(call, thread, turn, how_to_wait(call.params.arguments or {}))


def _stored(outcome: Outcome, names: Mapping[str, object], reader: Reader, begin: int) -> dict[str, object]:
    told = described(outcome, names, (), reader, begin)
    told.pop("filesChanged", None)  # not known
    return told


def _with_findings(names: Mapping[str, object], turn: Turn, outcome: Outcome) -> Mapping[str, object]:
    """The fields of a result; of a review that has ended, with what it has found."""
    if turn.spec.review is None or outcome.status is not Status.COMPLETED:
        return names
    findings = findings_in(outcome.content)
    return names if findings is None else {**names, "findings": findings}


def _uncut_json(turn: Turn, reader: Reader) -> Reader:
    """Half of a JSON document is of no use."""
    return reader if turn.spec.output_schema is None else replace(reader, chars=None, is_json=True)


def _digest(call: Call) -> str:
    return digest([call.params.name, call.params.arguments])
