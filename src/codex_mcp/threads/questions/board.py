"""Pure. The board: every question of Codex to a person, from the moment Codex asks until a day after its end.

    state \\ event    answered    out of time    Codex withdraws it    Codex or the server ends
    --------------   ---------   ------------   -------------------   ------------------------
    open             decided     expired        withdrawn             lost
    decided          (ignored)   (ignored)      (ignored)             (ignored)
    expired          (ignored)   (ignored)      (ignored)             (ignored)
    withdrawn        (ignored)   (ignored)      (ignored)             (ignored)
    lost             (ignored)   (ignored)      (ignored)             (ignored)

So the first answer wins, whoever gives it, and each question has one receipt. Times are seconds since 1970.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from codex_mcp.threads.questions.decisions import Decision, Denied, timed_out, word_for
from codex_mcp.threads.questions.questions import Question
from codex_mcp.wire.jsonrpc import Id

KEPT: Final = 86_400.0
"""Seconds for which a receipt is kept: whoever looks again on the same day is told what became of a question."""

MOST_KEPT: Final = 10_000
"""Receipts; beyond it the oldest is forgotten. An agent may ask hundreds of times in a turn."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of the questions that receipts are for: a patch may be large. The newest one is kept, whatever its size."""

DIGEST_BYTES: Final = 16


class State(StrEnum):
    OPEN = "open"
    DECIDED = "decided"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    LOST = "lost"


class Via(StrEnum):
    """How a question came to its end."""

    ELICITATION = "elicitation"
    INPUT_REQUIRED = "input_required"
    TASK = "task"
    CONVERSATION = "conversation"
    CODEX_APPROVALS = "codex_approvals"
    TERMINAL = "terminal"
    PAGE = "page"
    TUI = "tui"
    """A Codex TUI that is attached to the agent."""
    TIMEOUT = "timeout"
    RULE = "rule"
    """No person was asked, or the client failed to ask one."""
    SHUTDOWN = "shutdown"
    CODEX = "codex"


class Answer(Struct, frozen=True):
    """A decision, who made it, and how."""

    decision: Decision
    by: str = ""
    """Empty if no person has."""
    via: Via = Via.RULE


class AskedOf(Struct, frozen=True):
    """A client that is being asked at this moment."""

    client: str
    via: Via
    since: float


class Receipt(Struct, frozen=True):
    state: State
    via: Via
    at: float
    decision: Decision | None = None
    by: str = ""
    key: str = ""
    """Of the answer that was used, by which its repetition is known."""

    @property
    def word(self) -> str:
        """The end in one word: the decision, or the state."""
        return word_for(self.decision) if self.state is State.DECIDED and self.decision is not None else str(self.state)


class Entry(Struct, frozen=True, kw_only=True):
    """A question on the board."""

    question: Question
    thread: str
    principal: str
    agent: str = ""
    """The name of the agent whose thread it is; empty if no agent has it."""
    asked_at: float
    deadline: float | None = None
    asked_of: tuple[AskedOf, ...] = ()
    receipt: Receipt | None = None
    request: Id | None = None
    """What Codex calls it."""

    @property
    def id(self) -> str:
        return self.question.id

    @property
    def state(self) -> State:
        return State.OPEN if self.receipt is None else self.receipt.state

    @property
    def digest(self) -> str:
        """Of the kind and the fields: of what a person is shown before an answer."""
        return digest_of(self.question)


class Verdict(Struct, frozen=True):
    """What became of an answer."""

    used: bool
    state: State | None
    """None: no such question is known, or not any more."""
    decision: str = ""
    by: str = ""
    via: str = ""
    at: float | None = None
    sentence: str = ""


class Changed(Struct, frozen=True):
    """The answer was to something else than what is asked; `digest` is of what is asked."""

    digest: str


def digest_of(question: Question) -> str:
    return hashlib.blake2b(_encoded(replace(question, id="")), digest_size=DIGEST_BYTES).hexdigest()


def _encoded(question: Question) -> bytes:
    return msgspec.json.encode([question.kind, asdict(question)])


def turn_name_of(question_id: str) -> str:
    """The name of the turn in which it was asked."""
    return question_id.partition("/")[0]


def expired(seconds: float) -> Answer:
    """Nobody has answered within this time."""
    return Answer(timed_out(seconds), via=Via.TIMEOUT)


def denied(reason: str, via: Via = Via.RULE) -> Answer:
    """Denied without a person."""
    return Answer(Denied(reason), via=via)


def receipt_of(answer: Answer, now: float, key: str = "") -> Receipt:
    state = State.EXPIRED if answer.via is Via.TIMEOUT else State.DECIDED
    return Receipt(state, answer.via, now, answer.decision, answer.by, key)


UNKNOWN: Final = "No question {} is known here."


class Entries:
    """The questions of a server, open and closed."""

    def __init__(self, kept: float = KEPT, most: int = MOST_KEPT, most_bytes: int = MOST_BYTES) -> None:
        self._kept = kept
        self._most = most
        self._most_bytes = most_bytes
        self._sizes: dict[str, int] = {}
        """Of the closed ones."""
        self._bytes = 0
        self._open: dict[str, Entry] = {}
        self._closed: OrderedDict[str, Entry] = OrderedDict()

    def open_entries(self) -> list[Entry]:
        """Those that wait for an answer, in the order in which Codex asked."""
        return list(self._open.values())

    def closed_entries(self, most: int, most_bytes: int, now: float) -> list[Entry]:
        """The newest of those that have a receipt, as far as their questions are no larger together."""
        self._forget(now)
        found: list[Entry] = []
        for entry in reversed(self._closed.values()):
            most_bytes -= self._sizes[entry.id]
            if len(found) == most or most_bytes < 0:
                break
            found.append(entry)
        return found

    def find(self, question_id: str, now: float) -> Entry | None:
        self._forget(now)
        return self._open.get(question_id) or self._closed.get(question_id)

    def add(self, entry: Entry) -> None:
        """Codex asks. An id is used once."""
        self._open[entry.id] = entry

    def close(self, question_id: str, receipt: Receipt) -> Entry | None:
        """The question with its receipt; None if it was not open, which means that something else came first."""
        entry = self._open.pop(question_id, None)
        if entry is None:
            return None
        closed = self._closed[question_id] = replace(entry, receipt=receipt, asked_of=())
        size = self._sizes[question_id] = len(_encoded(entry.question))
        self._bytes += size
        self._forget(receipt.at)
        return closed

    def decide(self, question_id: str, receipt: Receipt, digest: str | None = None) -> tuple[Entry | None, bool]:
        """The question, and whether this closed it; it stays open if the digest is of something else."""
        entry = self.find(question_id, receipt.at)
        if entry is None or entry.receipt is not None or digest not in (None, entry.digest):
            return entry, False
        return self.close(question_id, receipt), True

    def _forget(self, now: float) -> None:
        while self._closed:
            receipt = next(iter(self._closed.values())).receipt
            assert receipt is not None
            fits = len(self._closed) <= self._most and (self._bytes <= self._most_bytes or len(self._closed) == 1)
            if fits and now - receipt.at < self._kept:
                return
            forgotten, _ = self._closed.popitem(last=False)
            self._bytes -= self._sizes.pop(forgotten)


def verdict_on(entry: Entry | None, question_id: str, answer: Answer, key: str, now: float) -> Verdict:
    """What the giver of an answer is told about a question that is closed or unknown."""
    receipt = None if entry is None else entry.receipt
    if receipt is None:
        return Verdict(used=False, state=None, sentence=UNKNOWN.format(question_id))
    used = bool(key) and (key, answer.by, answer.via) == (receipt.key, receipt.by, receipt.via)
    return told(receipt, now, used=used)


def told(receipt: Receipt, now: float, *, used: bool) -> Verdict:
    sentence = f"Answered: {receipt.word}." if used else f"{closing(receipt, now)} This answer was not used."
    return Verdict(used, receipt.state, receipt.word, receipt.by, str(receipt.via), receipt.at, sentence)


def closing(receipt: Receipt, now: float) -> str:
    """How a question came to its end, as a sentence."""
    ago = f"{max(0, round(now - receipt.at))} s ago"
    match receipt.state:
        case State.EXPIRED:
            reason = receipt.decision.reason if isinstance(receipt.decision, Denied) else "its time is up"
            return f"It expired {ago}: {reason}."
        case State.WITHDRAWN:
            return f"It was withdrawn {ago}: its turn was stopped, or Codex went on without an answer."
        case State.LOST:
            return f"It was lost {ago}: Codex or its server ended, and the question ended with it."
        case _:
            by = f" by {receipt.by}" if receipt.by else ""
            return f"It was answered ({receipt.word}){by} {ago} (via {receipt.via})."
