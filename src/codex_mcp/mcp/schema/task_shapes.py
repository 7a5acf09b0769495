"""Pure. Turns as tasks, MCP's extension for work that takes longer than a call.

turn                                               task
-------------------------------------------------  ----------------------------------------------------------
running or waiting, without a question             working
running, with questions                            input_required, with the questions
completed or failed                                completed, with the result that the call would have had
interrupted                                        cancelled

The extension's own `failed` means that the server failed. A task's id is its sealed name: nothing is stored for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from codex_mcp.access.seal import seal, unseal
from codex_mcp.mcp.schema import results
from codex_mcp.mcp.schema.answer_size import WHOLE, Reader
from codex_mcp.mcp.schema.results import GoesOn
from codex_mcp.threads.record import Outcome, Status

PURPOSE: Final = "task"

POLL_INTERVAL_MS: Final = 1000
"""A turn takes seconds to minutes, so that a poll per second is cheap and soon enough."""


class TaskName(Struct, frozen=True):
    """Which turn a task is, its principal, and when it began."""

    thread_id: str
    turn: str
    principal: str
    created: float
    """Seconds since 1970."""


class TurnNews(Struct, frozen=True):
    outcome: Outcome
    asks: Mapping[str, object]
    names: Mapping[str, object]
    """More fields about its thread."""
    goes_on: GoesOn = GoesOn.REPLY
    reader: Reader = WHOLE


def task_id(key: bytes, name: TaskName) -> str:
    return seal(key, PURPOSE, name)


def task_name(key: bytes, text: str, principal: str) -> TaskName | None:
    """The name in this id, if this server sealed it for this principal."""
    name = unseal(key, PURPOSE, text, TaskName)
    return name if name is not None and name.principal == principal else None


def created_task(key: bytes, name: TaskName, outcome: Outcome, kept: float) -> dict[str, object]:
    """The result of a call whose turn goes on as a task; `kept` is how long its outcome can be fetched, in seconds."""
    return {"resultType": "task", **_task(task_id(key, name), "working", name.created, outcome, kept)}


def described_task(text: str, name: TaskName, news: TurnNews, kept: float) -> dict[str, object]:
    status = _status(news.outcome, news.asks)
    task = _task(text, status, name.created, news.outcome, kept)
    match status:
        case "input_required":
            return {**task, "inputRequests": news.asks}
        case "completed":
            result = results.turn_result(news.outcome, news.names, goes_on=news.goes_on, reader=news.reader)
            return {**task, "result": {"resultType": "complete", **result.fields()}}
        case _:
            return task


def _status(outcome: Outcome, asks: Mapping[str, object]) -> str:
    match outcome.status:
        case Status.RUNNING:
            return "input_required" if asks else "working"
        case Status.INTERRUPTED:
            return "cancelled"
        case _:
            return "completed"


def _task(text: str, status: str, created: float, outcome: Outcome, kept: float) -> dict[str, object]:
    return {
        "taskId": text,
        "status": status,
        "statusMessage": outcome.activity,
        "createdAt": _date(created),
        "lastUpdatedAt": _date(created + outcome.seconds),
        # Counts from the beginning, and the outcome is kept from the end: so it grows while the turn runs.
        "ttlMs": round((outcome.seconds + kept) * 1000),
        "pollIntervalMs": POLL_INTERVAL_MS,
    }


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
