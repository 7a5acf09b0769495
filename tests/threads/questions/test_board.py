"""The board: every question ends once, in one state, with one answer that is used."""

from collections import Counter

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import asdict, replace

from codex_mcp.threads.questions.board import (
    Answer,
    Entries,
    Entry,
    Receipt,
    State,
    Via,
    closing,
    denied,
    digest_of,
    expired,
    receipt_of,
    turn_name_of,
    verdict_on,
)
from codex_mcp.threads.questions.decisions import Approved, Denied, Scope
from codex_mcp.threads.questions.questions import CommandQuestion, Method
from tests.support.core.questions import COMMAND, ask

QUESTION = ask(Method.EXEC, COMMAND)
ANSWERS = [
    Answer(Approved(), "ada", Via.TERMINAL),
    Answer(Approved(Scope.SESSION), "bob", Via.PAGE),
    Answer(Denied("no"), "ada", Via.ELICITATION),
    expired(600),
    denied("no one could be asked"),
]
ENDS = [State.WITHDRAWN, State.LOST]


def entry(number: int, at: float = 0.0) -> Entry:
    return Entry(question=replace(QUESTION, id=f"turn/question-{number}"), thread="t", principal="local", asked_at=at)


class AnyLife(RuleBasedStateMachine):
    """Any order of questions, answers, repetitions and ends."""

    @initialize()
    def begin(self) -> None:
        self.entries = Entries()
        self.asked = 0
        self.now = 0.0
        self.used: Counter[str] = Counter()
        self.closed: dict[str, Receipt] = {}

    def some(self, number: int) -> str:
        return f"turn/question-{number % (self.asked + 1)}"

    def note(self, found: Entry | None) -> None:
        if found is not None and found.receipt is not None:
            assert found.id not in self.closed, "it was closed before"
            self.closed[found.id] = found.receipt

    @rule()
    def codex_asks(self) -> None:
        self.asked += 1
        self.entries.add(entry(self.asked, self.now))

    @rule(number=st.integers(0, 9), answer=st.sampled_from(ANSWERS), key=st.sampled_from(["", "k", "l"]))
    def somebody_answers(self, number: int, answer: Answer, key: str) -> None:
        question_id, self.now = self.some(number), self.now + 1
        found, used = self.entries.decide(question_id, receipt_of(answer, self.now, key))
        if used:
            self.used[question_id] += 1
            self.note(found)
            assert found is not None
            assert found.state is (State.EXPIRED if answer.via is Via.TIMEOUT else State.DECIDED)
        elif found is not None:
            verdict = verdict_on(found, question_id, answer, key, self.now)
            receipt = self.closed[question_id]
            assert (verdict.state, verdict.decision, verdict.at) == (receipt.state, receipt.word, receipt.at)
            repeats = (answer.by, answer.via, key) == (receipt.by, receipt.via, receipt.key)
            assert verdict.used == (repeats and bool(key))

    @rule(number=st.integers(0, 9), answer=st.sampled_from(ANSWERS))
    def somebody_answers_what_was_replaced(self, number: int, answer: Answer) -> None:
        _, used = self.entries.decide(self.some(number), receipt_of(answer, self.now), "of another")
        assert not used

    @rule(number=st.integers(0, 9), state=st.sampled_from(ENDS))
    def it_ends_without_an_answer(self, number: int, state: State) -> None:
        self.note(self.entries.close(self.some(number), Receipt(state, Via.CODEX, self.now)))

    @invariant()
    def every_question_is_in_one_state_and_one_answer_is_used(self) -> None:
        still_open = {each.id for each in self.entries.open_entries()}
        assert all(count == 1 for count in self.used.values())
        assert still_open.isdisjoint(self.closed)
        for number in range(1, self.asked + 1):
            found = self.entries.find(f"turn/question-{number}", self.now)
            assert found is not None
            assert (found.id in still_open) == (found.state is State.OPEN)
            assert found.receipt == self.closed.get(found.id), "a receipt never changes"


TestAnyLife = AnyLife.TestCase


def closed(entries: Entries, number: int, at: float) -> None:
    entries.add(entry(number, at))
    entries.close(f"turn/question-{number}", Receipt(State.LOST, Via.CODEX, at))


def test_a_receipt_is_kept_for_a_day() -> None:
    entries = Entries(kept=10)
    closed(entries, 1, 0.0)
    assert entries.find("turn/question-1", 9.9) is not None
    assert entries.find("turn/question-1", 10.0) is None


def test_of_too_many_receipts_the_oldest_is_forgotten_and_no_open_question_is() -> None:
    entries = Entries(most=2)
    entries.add(entry(0))
    for number in (1, 2, 3):
        closed(entries, number, float(number))
    assert [entries.find(f"turn/question-{number}", 3.0) is not None for number in range(4)] == [
        True,
        False,
        True,
        True,
    ]


def test_receipts_of_large_questions_are_forgotten_earlier_and_the_newest_is_kept() -> None:
    entries = Entries(most_bytes=1)
    for number in (1, 2, 3):
        closed(entries, number, float(number))
    assert [entries.find(f"turn/question-{number}", 3.0) is not None for number in (1, 2, 3)] == [False, False, True]


def test_the_newest_receipts_are_listed_as_far_as_their_questions_are_small() -> None:
    entries = Entries()
    for number in (1, 2, 3):
        closed(entries, number, float(number))
    size = len(msgspec.json.encode([entry(1).question.kind, asdict(entry(1).question)]))

    def listed(most: int, most_bytes: int) -> list[str]:
        return [each.id[-1] for each in entries.closed_entries(most, most_bytes, 3.0)]

    assert (listed(9, 9 * size), listed(2, 9 * size), listed(9, size)) == (["3", "2", "1"], ["3", "2"], ["3"])


def test_the_digest_is_of_what_is_asked_and_not_of_its_id() -> None:
    assert isinstance(QUESTION, CommandQuestion)
    assert digest_of(replace(QUESTION, id="a/question-1")) == digest_of(replace(QUESTION, id="b/question-2"))
    assert digest_of(QUESTION) != digest_of(replace(QUESTION, command_line="rm -r /"))


def test_an_id_names_its_turn() -> None:
    assert turn_name_of("0a1b/question-3") == "0a1b"


def test_each_end_is_a_sentence() -> None:
    ends = {
        receipt_of(ANSWERS[0], 1.0): "It was answered (approved) by ada 2 s ago (via terminal).",
        receipt_of(denied("x"), 1.0): "It was answered (denied) 2 s ago (via rule).",
        receipt_of(expired(600), 1.0): "It expired 2 s ago: no one answered within 600 seconds.",
        Receipt(State.EXPIRED, Via.TIMEOUT, 1.0): "It expired 2 s ago: its time is up.",
        Receipt(State.WITHDRAWN, Via.CODEX, 1.0): (
            "It was withdrawn 2 s ago: its turn was stopped, or Codex went on without an answer."
        ),
        Receipt(
            State.LOST, Via.CODEX, 1.0
        ): "It was lost 2 s ago: Codex or its server ended, and the question ended with it.",
    }
    assert {receipt: closing(receipt, 3.0) for receipt in ends} == ends
