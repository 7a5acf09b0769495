"""Pure. Turns as tasks, the extension of MCP for what takes longer than a call.

A turn that is                                     is a task that is
-------------------------------------------------  ----------------------------------------------------------
running or waiting, and asks nothing               working
running, and asks                                  input_required, with the questions
completed or failed                                completed, with the result that the call would have had
interrupted                                        cancelled

The extension's own `failed` is for a server that broke. A task's id is its name, sealed: nothing is stored for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from codex_mcp.mcp.asking.elicitation import elicitation_params
from codex_mcp.mcp.schema import results
from codex_mcp.mcp.schema.results import GoesOn, Result
from codex_mcp.mcp.seal import BrokenSeal, seal, unseal
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Outcome, Status

PURPOSE: Final = "task"

POLL_INTERVAL_MS: Final = 1000
"""A turn takes seconds to minutes: looking once a second costs little and loses little."""

WORKING: Final = "working"
INPUT_REQUIRED: Final = "input_required"
COMPLETED: Final = "completed"
CANCELLED: Final = "cancelled"


class TaskName(Struct, frozen=True):
    """Which turn a task is, whose, and since when."""

    thread_id: str
    turn: str
    principal: str
    created: float
    """Seconds since 1970."""


class TurnNews(Struct, frozen=True):
    """What there is to say of a task's turn."""

    outcome: Outcome
    asks: Mapping[str, object]
    """What it wants to know."""
    names: Mapping[str, object]
    """What else is known of its thread."""
    goes_on: GoesOn = GoesOn.REPLY
    """How its conversation can be continued."""


def task_id(key: bytes, name: TaskName) -> str:
    """The name as the client carries it."""
    return seal(key, PURPOSE, name)


def task_name(key: bytes, text: str, principal: str) -> TaskName | None:
    """The name that this id stands for, if it is ours and this principal's."""
    try:
        name = unseal(key, PURPOSE, text, TaskName)
    except BrokenSeal:
        return None
    return name if name.principal == principal else None


def created_task(key: bytes, name: TaskName, outcome: Outcome, kept: float) -> Result:
    """The answer to a call whose turn goes on as a task. `kept`: seconds for which an outcome can be fetched."""
    return {"resultType": "task", **_task(task_id(key, name), WORKING, name.created, outcome, kept)}


def described_task(text: str, name: TaskName, news: TurnNews, kept: float) -> dict[str, object]:
    """A task as it stands; `text` is its id."""
    status = _status(news.outcome, news.asks)
    task = _task(text, status, name.created, news.outcome, kept)
    match status:
        case "input_required":
            return {**task, "inputRequests": news.asks}
        case "completed":
            result = results.turn_result(news.outcome, news.names, goes_on=news.goes_on)
            return {**task, "result": {"resultType": "complete", **result}}
        case _:
            return task


def asked_by_task(questions: Mapping[str, Question], call_id: str) -> dict[str, object]:
    """Questions as requests to the client. Under one key they are the same whenever they are read."""
    return {
        key: {"method": "elicitation/create", "params": elicitation_params(question, tool_call_id=call_id)}
        for key, question in questions.items()
    }


def _status(outcome: Outcome, asks: Mapping[str, object]) -> str:
    match outcome.status:
        case Status.RUNNING:
            return INPUT_REQUIRED if asks else WORKING
        case Status.INTERRUPTED:
            return CANCELLED
        case _:
            return COMPLETED


def _task(text: str, status: str, created: float, outcome: Outcome, kept: float) -> dict[str, object]:
    return {
        "taskId": text,
        "status": status,
        "statusMessage": outcome.activity,
        "createdAt": _date(created),
        "lastUpdatedAt": _date(created + outcome.seconds),
        # Counted from the beginning, so that it grows while the turn runs: it is kept from its end.
        "ttlMs": round((outcome.seconds + kept) * 1000),
        "pollIntervalMs": POLL_INTERVAL_MS,
    }


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
