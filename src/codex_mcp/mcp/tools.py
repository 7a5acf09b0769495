"""What each tool does. What goes wrong is a result, as MCP wants it, and never an exception."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import about
from codex_mcp.base.settings import Events, Settings
from codex_mcp.codex.core import BadThreadId, ConfigRefused, CoreError, ThreadNotFound
from codex_mcp.codex.events import Event
from codex_mcp.mcp import catalogue, results
from codex_mcp.mcp.arguments import TurnArguments, codex_arguments, reply_arguments, wait_arguments
from codex_mcp.mcp.call import Call
from codex_mcp.mcp.fields import BadArguments
from codex_mcp.mcp.inputs import (
    Asked,
    OpenQuestion,
    State,
    answers_by_place,
    input_required,
    numbered,
    sealed,
    unsealed,
)
from codex_mcp.mcp.results import Result
from codex_mcp.mcp.seal import digest
from codex_mcp.mcp.specs import CONFIG_REFUSED, events_of, new_thread, new_turn
from codex_mcp.mcp.task_shapes import TaskName, created_task
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.threads.approvals import decide
from codex_mcp.threads.book import Book
from codex_mcp.threads.record import Outcome, Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turns import QueueFull

logger = logging.getLogger(__name__)

Json: TypeAlias = Mapping[str, object]

MISSING: Final = {
    catalogue.CODEX.name: "Missing arguments for codex tool-call; the `prompt` field is required.",
    catalogue.CODEX_REPLY.name: (
        "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required."
    ),
}


class Tools:
    """The tools, with what they work on. `key` seals what clients carry for us."""

    def __init__(self, book: Book, settings: Settings, key: bytes) -> None:
        self._book = book
        self._settings = settings
        self._key = key
        self._bodies: dict[str, Callable[[Call, Json], Awaitable[Result]]] = {
            catalogue.CODEX.name: self._codex,
            catalogue.CODEX_REPLY.name: self._codex_reply,
            catalogue.CODEX_WAIT.name: self._codex_wait,
        }

    def warm_up(self) -> None:
        """Start the core before anybody needs it."""
        self._book.warm_up()

    async def run(self, call: Call) -> Result:
        """Run one call to its end."""
        name, arguments = call.params.name, call.params.arguments
        body = self._bodies.get(name)
        if body is None:
            return results.refused(f"Unknown tool '{name}'")
        if arguments is None and name in MISSING:
            return results.refused(MISSING[name])
        call.begin()
        try:
            if call.params.request_state is not None:
                return await self._again(call, body)
            return await body(call, arguments or {})
        except ConfigRefused as exc:
            return results.refused(f"{CONFIG_REFUSED}{exc}")
        except (BadArguments, Refused) as exc:
            return results.refused(str(exc))
        except CoreError as exc:
            return results.refused(f"Failed to start Codex session: {exc}")
        finally:
            call.end()

    async def _codex(self, call: Call, given: Json) -> Result:
        arguments = codex_arguments(given)
        new = new_thread(arguments, self._settings)
        spec = new_turn(arguments, new.spec.cwd or ".")
        thread = await self._book.start(new.spec, call.principal)
        with about(thread=thread.id):
            logger.info("thread started in %s", thread.cwd)
            call.events = events_of(arguments, self._settings)
            turn = thread.submit(spec, call, full_events=call.events is Events.FULL)
            for warning in new.warnings:
                call.event_happened(thread.id, Event("", {"type": "warning", "message": warning}))
            return await self._followed(call, thread, turn, arguments)

    async def _codex_reply(self, call: Call, given: Json) -> Result:
        arguments = reply_arguments(given)
        thread_id = arguments.thread_id
        if thread_id is None:
            return results.refused("Failed to parse thread_id: either threadId or conversationId must be provided")
        try:
            thread = await self._book.find(thread_id, call.principal)
        except BadThreadId as exc:
            return results.refused(f"Failed to parse thread_id: {exc}")
        except ThreadNotFound:
            return results.refused_in_thread(f"Session not found for thread_id: {thread_id}", thread_id)
        except CoreError as exc:
            return results.refused_in_thread(f"Failed to resume thread {thread_id}: {exc}", thread_id)
        with about(thread=thread.id):
            call.events = events_of(arguments, self._settings)
            spec = new_turn(arguments, thread.cwd)
            try:
                turn = thread.submit(spec, call, full_events=call.events is Events.FULL)
            except QueueFull:
                limit = self._settings.max_turns_waiting
                text = f"Thread {thread.id} is busy and {limit} more prompts are waiting already; wait for one to end."
                return results.refused_in_thread(text, thread.id)
            return await self._followed(call, thread, turn, arguments)

    async def _codex_wait(self, call: Call, given: Json) -> Result:
        arguments = wait_arguments(given)
        asked = arguments.thread_ids
        threads = self._book.of(call.principal) if asked is None else [self._known(call, each) for each in asked]
        turns = [turn for thread in threads for turn in _turns_of(thread, named=asked is not None)]
        running = [turn for turn in turns if not turn.ended]
        if running and len(running) == len(turns) and arguments.timeout_seconds != 0:
            await call.wait_for_one(running, call.patience(arguments.timeout_seconds))
        for turn in turns:
            turn.delivered = turn.delivered or turn.ended
        return self._input_required(call, turns) or results.wait_result([turn.outcome for turn in turns])

    async def _followed(self, call: Call, thread: Thread, turn: Turn, arguments: TurnArguments) -> Result:
        patience = 0.0 if arguments.background else call.patience(arguments.wait_seconds)
        outcome = await call.follow(thread, turn, patience)
        return self._told(call, turn, outcome)

    def _told(self, call: Call, turn: Turn, outcome: Outcome) -> Result:
        """What the client hears of its turn: what it asks, or that it goes on as a task, or how it stands."""
        asked = self._input_required(call, [turn])
        if asked is not None:
            return asked
        if outcome.status is Status.RUNNING and call.takes_task:
            created = time.time() - outcome.seconds
            name = TaskName(turn.thread_id, turn.name, call.principal, created)
            return created_task(self._key, name, outcome, self._settings.thread_idle)
        return results.turn_result(outcome)

    def _input_required(self, call: Call, turns: Sequence[Turn]) -> Result | None:
        """What these turns ask, if the client has to come again for it."""
        if not call.is_stateless:
            return None
        questions = [
            OpenQuestion(Asked(turn.thread_id, turn.place.turn_id, key), question)
            for turn in turns
            for key, question in turn.parked.open.items()
        ]
        if not questions:
            return None
        state = State(
            asked={key: question.at for key, question in numbered(questions).items()},
            principal=call.principal,
            call=_digest(call),
            expires=time.time() + self._settings.approval_timeout,
        )
        return input_required(questions, call.request_id, sealed(self._key, state))

    async def _again(self, call: Call, body: Callable[[Call, Json], Awaitable[Result]]) -> Result:
        """The client comes with answers: give them to the turns that asked, and go on waiting for those."""
        state = unsealed(
            self._key,
            call.params.request_state or "",
            principal=call.principal,
            call=_digest(call),
            now=time.time(),
        )
        if state is None:
            raise invalid_params("requestState is not one that this server gave for this call, or it has expired")
        turns = self._answered(call, state)
        if call.params.name == catalogue.CODEX_WAIT.name:
            return await body(call, call.params.arguments or {})
        if not turns:
            return results.refused("The question is no longer open. Continue the thread with codex-reply.")
        ((thread, turn),) = turns
        outcome = await call.follow(thread, turn, call.patience(None))
        return self._told(call, turn, outcome)

    def _answered(self, call: Call, state: State) -> list[tuple[Thread, Turn]]:
        """Decide what was answered; return the turns that had asked."""
        turns: dict[str, tuple[Thread, Turn]] = {}
        answers = answers_by_place(state, call.params.input_responses or {})
        for place in state.asked.values():
            thread = self._book.known(place.thread_id, call.principal)
            turn = thread.turn(place.turn_id) if thread is not None else None
            if thread is None or turn is None:
                continue
            turns[place.turn_id] = (thread, turn)
            question = turn.parked.open.get(place.key)
            if question is not None and place in answers:
                turn.parked.answer(place.key, decide(question, answers[place]))
        return list(turns.values())

    def _known(self, call: Call, thread_id: str) -> Thread:
        thread = self._book.known(thread_id, call.principal)
        if thread is None:
            raise BadArguments(
                f"No turn of thread {thread_id} is known here; codex-reply continues a thread of an earlier server."
            )
        return thread


def _turns_of(thread: Thread, *, named: bool) -> list[Turn]:
    """What there is to wait for or to collect. Of a thread that was named, its newest turn in any case."""
    turns = [*thread.uncollected(), *thread.unfinished()]
    if not turns and named and thread.newest is not None:
        return [thread.newest]
    return turns


def _digest(call: Call) -> str:
    return digest([call.params.name, call.params.arguments])
