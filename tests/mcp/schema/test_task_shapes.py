"""Turns as tasks: in the shape that clients expect, and each the business of its owner alone."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.access.seal import KEY_BYTES, seal
from codex_mcp.mcp.asking.inputs import input_requests
from codex_mcp.mcp.schema.task_shapes import (
    TaskName,
    TurnNews,
    created_task,
    described_task,
    task_id,
    task_name,
)
from codex_mcp.threads.questions.questions import Method
from codex_mcp.threads.record import Outcome, Status
from tests.support.core.questions import COMMAND, ask

KEY = bytes(range(KEY_BYTES))
NAME = TaskName("thread-1", "turn-1", "ada", created=1_800_000_000.0)
KEPT = 900.0


def outcome(status: Status, seconds: float = 1.5) -> Outcome:
    return Outcome("thread-1", status, "Done.", "running make", None, (), seconds)


def test_a_call_that_goes_on_is_answered_with_a_task_and_nothing_else() -> None:
    assert created_task(KEY, NAME, outcome(Status.RUNNING), KEPT) == {
        "resultType": "task",
        "taskId": task_id(KEY, NAME),
        "status": "working",
        "statusMessage": "running make",
        "createdAt": "2027-01-15T08:00:00.000Z",
        "lastUpdatedAt": "2027-01-15T08:00:01.500Z",
        "ttlMs": 901_500,
        "pollIntervalMs": 1000,
    }


@pytest.mark.parametrize(
    ("status", "asks", "expected", "further"),
    [
        (Status.RUNNING, {}, "working", set()),
        (Status.RUNNING, {"question-1": {}}, "input_required", {"inputRequests"}),
        (Status.COMPLETED, {}, "completed", {"result"}),
        (Status.FAILED, {}, "completed", {"result"}),
        (Status.INTERRUPTED, {}, "cancelled", set()),
        (Status.COMPLETED, {"question-1": {}}, "completed", {"result"}),
    ],
)
def test_a_task_says_how_its_turn_stands(
    status: Status, asks: dict[str, object], expected: str, further: set[str]
) -> None:
    task = described_task("id", NAME, TurnNews(outcome(status), asks, {}), KEPT)
    assert (task["taskId"], task["status"]) == ("id", expected)
    assert task.keys() & {"inputRequests", "result", "error", "requestState"} == further


@pytest.mark.parametrize(("status", "is_error"), [(Status.COMPLETED, None), (Status.FAILED, True)])
def test_the_result_is_the_one_of_the_call(status: Status, *, is_error: bool | None) -> None:
    news = TurnNews(outcome(status), {}, {"identity": "arch"})
    result = msgspec.to_builtins(described_task("id", NAME, news, KEPT)["result"])
    assert (result["resultType"], result.get("isError")) == ("complete", is_error)
    assert (result["structuredContent"]["identity"], result["structuredContent"]["content"]) == ("arch", "Done.")


def test_questions_are_requests_that_do_not_change_while_they_are_open() -> None:
    questions = {"question-2": ask(Method.EXEC, COMMAND)}
    asked = msgspec.to_builtins(input_requests(questions, "7"))
    assert asked["question-2"]["method"] == "elicitation/create"
    assert asked["question-2"]["params"]["codex_mcp_tool_call_id"] == "7"
    assert asked == msgspec.to_builtins(input_requests(questions, "7"))


@given(st.text(), st.text())
def test_an_id_is_read_by_its_owner_alone(owner: str, other: str) -> None:
    name = TaskName("thread-1", "turn-1", owner, 1.0)
    found = task_name(KEY, task_id(KEY, name), other)
    assert found == (name if owner == other else None)


def test_what_we_did_not_seal_for_this_purpose_names_nothing() -> None:
    assert task_name(KEY, "", "ada") is None
    assert task_name(KEY, task_id(KEY, NAME)[:-1], "ada") is None
    assert task_name(KEY, task_id(bytes(KEY_BYTES), NAME), "ada") is None
    assert task_name(KEY, seal(KEY, "session", NAME), "ada") is None
