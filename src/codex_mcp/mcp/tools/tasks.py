"""`tasks/…`: look at a turn that goes on as a task, answer its questions, cancel it."""

from __future__ import annotations

import logging

from codex_mcp.base.logs import about_only
from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.mcp.asking.inputs import input_requests
from codex_mcp.mcp.calls.follower import Follower
from codex_mcp.mcp.methods import Exchange, Handler
from codex_mcp.mcp.schema.answer_size import reader_for
from codex_mcp.mcp.schema.task_shapes import TaskName, TurnNews, described_task, task_name
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.threads.questions.approvals import decide
from codex_mcp.threads.questions.board import Answer, Via
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.wire import mcp

logger = logging.getLogger(__name__)


class Tasks:
    """Turns as tasks. `key` seals their ids."""

    def __init__(self, threads: Threads, settings: CallSettings, key: bytes, follower: Follower) -> None:
        self._threads = threads
        self._settings = settings
        self._key = key
        self._follower = follower

    def table(self) -> dict[str, Handler]:
        return {"tasks/get": self._get, "tasks/update": self._update, "tasks/cancel": self._cancel}

    def _get(self, exchange: Exchange) -> object:
        exchange.client.require_extension(mcp.TASKS_EXTENSION)
        text = exchange.params(mcp.TaskNamed).task_id
        name, _thread, turn = self._found(exchange, text)
        outcome = turn.outcome
        if outcome.status is not Status.RUNNING:
            self._follower.waiter.collected(exchange.session.caller, exchange.request.id, turn.answer)
        asks = input_requests(turn.parked.open, turn.audience.label)
        client = exchange.client
        reader = reader_for(client.name, client.revision, self._settings.max_answer_chars)
        said = self._follower.says(name.thread_id)
        news = TurnNews(outcome, asks, said.names, said.goes_on, reader)
        return described_task(text, name, news, self._settings.thread_idle)

    def _update(self, exchange: Exchange) -> object:
        exchange.client.require_extension(mcp.TASKS_EXTENSION)
        params = exchange.params(mcp.UpdateTask)
        _name, thread, turn = self._found(exchange, params.task_id)
        with about_only(exchange.subject._replace(thread=thread.id)):
            for question_id, question in turn.parked.open.items():
                if question_id in params.input_responses:
                    decision = decide(question, params.input_responses[question_id])
                    answer = Answer(decision, exchange.client.name, Via.TASK)
                    self._threads.board.decide(question_id, answer)
        return {}

    def _cancel(self, exchange: Exchange) -> object:
        exchange.client.require_extension(mcp.TASKS_EXTENSION)
        _name, thread, turn = self._found(exchange, exchange.params(mcp.TaskNamed).task_id)
        with about_only(exchange.subject._replace(thread=thread.id)):
            logger.info("task cancelled")
        thread.cancel(turn)
        return {}

    def _found(self, exchange: Exchange, text: str) -> tuple[TaskName, Thread, Turn]:
        principal = exchange.session.principal
        name = task_name(self._key, text, principal)
        thread = None if name is None else self._threads.known(name.thread_id, principal)
        turn = None if name is None or thread is None else thread.turn_named(name.turn)
        if name is None or thread is None or turn is None:
            raise invalid_params("there is no such task, or not any more")
        return name, thread, turn
