"""Pure. "Input required": the questions of turns as a result, and the client's answers when it comes again.

What the client carries between the two requests says which questions it was shown. It is sealed, names who may answer,
for which call and until when; so it cannot be made up, lent, used for another call, or kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from codex_mcp.mcp.asking.elicitation import elicitation_params
from codex_mcp.mcp.seal import BrokenSeal, seal, unseal
from codex_mcp.threads.questions.questions import Question
from codex_mcp.wire.jsonrpc import Id

PURPOSE = "input required"


class Asked(Struct, frozen=True):
    """One question that was shown: where it waits."""

    thread_id: str
    turn_id: str
    key: str


class State(Struct, frozen=True):
    """What the client carries for us."""

    asked: dict[str, Asked]
    """By the key that the client sees."""
    principal: str
    call: str
    """The digest of the call that was made."""
    expires: float
    shown: float = 0.0
    """When the questions were shown."""


class OpenQuestion(Struct, frozen=True):
    """A question that waits, and where."""

    at: Asked
    question: Question


def input_required(questions: Sequence[OpenQuestion], request_id: Id, request_state: str) -> dict[str, object]:
    """The result that asks the client to come again."""
    requests = {
        key: {
            "method": "elicitation/create",
            "params": elicitation_params(question.question, tool_call_id=request_id),
        }
        for key, question in numbered(questions).items()
    }
    return {"resultType": "input_required", "inputRequests": requests, "requestState": request_state}


def numbered(questions: Sequence[OpenQuestion]) -> dict[str, OpenQuestion]:
    """The questions under the keys that the client sees."""
    return {f"approval-{number}": question for number, question in enumerate(questions, 1)}


def sealed(key: bytes, state: State) -> str:
    """The state as the client carries it."""
    return seal(key, PURPOSE, state)


def unsealed(key: bytes, text: str, *, principal: str, call: str, now: float) -> State | None:
    """The state as it was sealed, if it is ours, and for this principal, this call and this time."""
    try:
        state = unseal(key, PURPOSE, text, State)
    except BrokenSeal:
        return None
    if state.principal != principal or state.call != call or now > state.expires:
        return None
    return state


def answers_by_place(state: State, responses: Mapping[str, object]) -> dict[Asked, object]:
    """The answers that came, by the question they belong to. What was not asked is ignored."""
    return {state.asked[key]: answer for key, answer in responses.items() if key in state.asked}
