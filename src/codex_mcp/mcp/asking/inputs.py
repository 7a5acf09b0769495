"""Pure. `input_required`: questions as the result of a stateless call, and the answers in the client's next request.

Between the two requests the client carries a sealed state: which questions it was shown, and who may answer them, for
which call and until when. So it cannot be forged, passed on, used for another call, or used too late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from codex_mcp.access.seal import seal, unseal
from codex_mcp.mcp.asking.elicitation import elicitation_params
from codex_mcp.threads.questions.questions import Question
from codex_mcp.wire.jsonrpc import Id

PURPOSE = "input required"


class Asked(Struct, frozen=True):
    """Where a question was asked."""

    thread_id: str
    id: str


class RequestState(Struct, frozen=True):
    asked: dict[str, Asked]
    """By the keys that the client was given."""
    principal: str
    call: str
    """The digest of the call."""
    expires: float
    shown: float = 0.0
    """When the client was given the questions."""


def input_required(questions: Sequence[Question], request_id: Id, request_state: str) -> dict[str, object]:
    requests = input_requests(numbered(questions), request_id)
    return {"resultType": "input_required", "inputRequests": requests, "requestState": request_state}


def input_requests(questions: Mapping[str, Question], request_id: Id) -> dict[str, object]:
    """Questions as requests to the client. A key always stands for the same question."""
    return {
        key: {"method": "elicitation/create", "params": elicitation_params(question, tool_call_id=request_id)}
        for key, question in questions.items()
    }


def numbered(questions: Sequence[Question]) -> dict[str, Question]:
    return {f"approval-{number}": question for number, question in enumerate(questions, 1)}


def asked_at(questions: Sequence[Question]) -> dict[str, Asked]:
    """Where these were asked, by the keys that the client is given."""
    return {key: Asked(question.thread_id, question.id) for key, question in numbered(questions).items()}


def sealed(key: bytes, state: RequestState) -> str:
    return seal(key, PURPOSE, state)


def unsealed(key: bytes, text: str, *, principal: str, call: str, now: float) -> RequestState | None:
    """The state, if this server sealed it for this principal and call, and it has not expired."""
    state = unseal(key, PURPOSE, text, RequestState)
    if state is None or state.principal != principal or state.call != call or now > state.expires:
        return None
    return state


def threads_asking(key: bytes, text: str) -> list[str]:
    """The threads whose questions the client was shown, if this server or another of its cluster sealed the state."""
    state = unseal(key, PURPOSE, text, RequestState)
    return [] if state is None else sorted({asked.thread_id for asked in state.asked.values()})


def answers_by_place(state: RequestState, responses: Mapping[str, object]) -> dict[Asked, object]:
    """The answers, by the questions they belong to. Other keys are ignored."""
    return {state.asked[key]: answer for key, answer in responses.items() if key in state.asked}
