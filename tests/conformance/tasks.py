"""Jobs that take a while, as the suite wants them for the tasks extension. They end when their time is up."""

import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from codex_mcp.mcp.exchange import Exchange
from codex_mcp.mcp.methods import Handler
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR
from tests.conformance.content import NAME, Json, elicitation, text

TASK_TOOLS: Final = ("greet", "slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input")

SHORT: Final = 1.0
"""Seconds that a job takes if nobody says how long."""

CONFIRM: Final = elicitation("Shall it go?", {"confirm": {"type": "boolean"}})


@dataclass(slots=True)
class Job:
    """What becomes of it is decided at the start."""

    end: Json
    """`result` or `error`."""
    seconds: float = SHORT
    asks: dict[str, Json] = field(default_factory=dict)
    cancelled: bool = False
    began: float = field(default_factory=time.time)

    @property
    def state(self) -> Json:
        """How it stands."""
        if self.cancelled:
            return {"status": "cancelled"}
        if self.asks:
            return {"status": "input_required", "inputRequests": self.asks}
        if time.time() < self.began + self.seconds:
            return {"status": "working"}
        return {"status": "failed" if "error" in self.end else "completed", **self.end}


class Jobs:
    """All that were started, by their ids."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}

    def table(self) -> dict[str, Handler]:
        """The methods of the extension."""
        return {"tasks/get": self._get, "tasks/update": self._update, "tasks/cancel": self._cancel}

    def call(self, exchange: Exchange, params: mcp.CallTool) -> Json:
        """Answer a call: at once, or with a task."""
        arguments = params.arguments or {}
        done = {"content": [text(f"{params.name}: {arguments}")]}
        match params.name:
            case "greet":
                return {"content": [text(f"Hello, {arguments['name']}!")]}
            case "slow_compute":
                seconds = float(str(arguments["seconds"]))
                takes_task = exchange.client.has_extension(mcp.TASKS_EXTENSION)
                return self.start(done, seconds=seconds) if takes_task and seconds else done
        exchange.client.require_extension(mcp.TASKS_EXTENSION)
        match params.name:
            case "failing_job":
                return self.start({"isError": True, "content": [text("It did not work.")]})
            case "protocol_error_job":
                return self._started(Job({"error": {"code": INTERNAL_ERROR, "message": "The server broke."}}))
            case "confirm_delete":
                return self.start(done, asks={"sure": CONFIRM})
            case _:
                return self.start(done, asks={"first": elicitation("Who?", NAME), "second": CONFIRM})

    def start(self, result: Json, *, seconds: float = SHORT, asks: dict[str, Json] | None = None) -> Json:
        """Start a job that ends with this result; return the answer to the call."""
        return self._started(Job({"result": result}, seconds, dict(asks or {})))

    def _started(self, job: Job) -> Json:
        task_id = secrets.token_hex()
        self._jobs[task_id] = job
        return {"resultType": "task", "status": "working", **_described(task_id, job)}

    def _get(self, exchange: Exchange) -> object:
        exchange.client.require_extension(mcp.TASKS_EXTENSION)
        task_id = exchange.params(mcp.TaskNamed).task_id
        job = self._found(task_id)
        return {**_described(task_id, job), **job.state}

    def _update(self, exchange: Exchange) -> object:
        exchange.client.require_extension(mcp.TASKS_EXTENSION)
        params = exchange.params(mcp.UpdateTask)
        job = self._found(params.task_id)
        job.asks = {key: request for key, request in job.asks.items() if key not in params.input_responses}
        return {}

    def _cancel(self, exchange: Exchange) -> object:
        exchange.client.require_extension(mcp.TASKS_EXTENSION)
        job = self._found(exchange.params(mcp.TaskNamed).task_id)
        job.cancelled = job.cancelled or job.state["status"] in ("working", "input_required")
        return {}

    def _found(self, task_id: str) -> Job:
        if task_id not in self._jobs:
            raise invalid_params("there is no such task")
        return self._jobs[task_id]


def _described(task_id: str, job: Job) -> Json:
    return {
        "taskId": task_id,
        "createdAt": datetime.fromtimestamp(job.began, UTC).isoformat(),
        "lastUpdatedAt": datetime.now(UTC).isoformat(),
        "ttlMs": None,
        "pollIntervalMs": 100,
    }
