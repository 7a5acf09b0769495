"""Questions that the client carries away and brings back answered: only its own, for the same call, in time."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from codex_mcp.access.seal import KEY_BYTES, seal
from codex_mcp.mcp.asking.inputs import (
    Asked,
    RequestState,
    answers_by_place,
    asked_at,
    input_required,
    numbered,
    sealed,
    threads_asking,
    unsealed,
)
from codex_mcp.threads.questions.questions import Method
from tests.support.core.questions import COMMAND, ask

KEY = bytes(range(KEY_BYTES))
PLACE = Asked("thread-1", "turn-1/question-1")
STATE = RequestState({"approval-1": PLACE}, "ada", "digest", expires=100.0)
QUESTION = replace(ask(Method.EXEC, COMMAND), thread_id=PLACE.thread_id, id=PLACE.id)


def brought(text: str, *, principal: str = "ada", call: str = "digest", now: float = 50.0) -> RequestState | None:
    return unsealed(KEY, text, principal=principal, call=call, now=now)


def test_the_result_asks_the_client_to_come_again() -> None:
    result = input_required([QUESTION, QUESTION], 7, "state")
    assert (result["resultType"], result["requestState"]) == ("input_required", "state")
    requests = msgspec.to_builtins(result["inputRequests"])
    assert list(requests) == ["approval-1", "approval-2"]
    assert requests["approval-1"]["method"] == "elicitation/create"
    assert requests["approval-1"]["params"]["codex_mcp_tool_call_id"] == "7"
    assert requests["approval-1"]["params"]["requestedSchema"]["type"] == "object"


def test_every_question_has_a_key_of_its_own() -> None:
    assert list(numbered([QUESTION] * 3)) == ["approval-1", "approval-2", "approval-3"]
    assert numbered([]) == {}
    assert asked_at([QUESTION]) == STATE.asked


def test_what_comes_back_as_it_was_given_is_read() -> None:
    assert brought(sealed(KEY, STATE)) == STATE
    assert brought(sealed(KEY, STATE), now=100.0) == STATE


def test_the_threads_that_ask_are_told_to_whoever_has_the_key() -> None:
    asked = {"approval-1": PLACE, "approval-2": Asked("thread-0", "q"), "approval-3": Asked("thread-1", "r")}
    assert threads_asking(KEY, sealed(KEY, replace(STATE, asked=asked))) == ["thread-0", "thread-1"]
    assert threads_asking(bytes(KEY_BYTES), sealed(KEY, STATE)) == threads_asking(KEY, "") == []


@pytest.mark.parametrize("changed", [{"principal": "bob"}, {"call": "another"}, {"now": 100.1}])
def test_it_is_of_no_use_to_another_for_another_call_or_later(changed: dict[str, object]) -> None:
    assert brought(sealed(KEY, STATE), **changed) is None  # type: ignore[arg-type]


def test_what_we_did_not_seal_for_this_purpose_is_nothing() -> None:
    assert brought("") is None
    assert brought(sealed(KEY, STATE)[:-1]) is None
    assert brought(sealed(bytes(KEY_BYTES), STATE)) is None
    assert brought(seal(KEY, "session", STATE)) is None


@given(st.dictionaries(st.sampled_from(["approval-1", "approval-2", "x"]), st.integers()))
def test_answers_to_what_was_not_asked_are_ignored(responses: dict[str, object]) -> None:
    places = answers_by_place(STATE, responses)
    assert places == ({PLACE: responses["approval-1"]} if "approval-1" in responses else {})
