"""What each tool does. What goes wrong is a result, as MCP wants it, and never an exception."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
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
from codex_mcp.mcp.results import Result
from codex_mcp.mcp.specs import CONFIG_REFUSED, events_of, new_thread, new_turn
from codex_mcp.threads.book import Book
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
    """The tools, with what they work on."""

    def __init__(self, book: Book, settings: Settings) -> None:
        self._book = book
        self._settings = settings
        self._bodies: dict[str, Callable[[Call, Json], Awaitable[Result]]] = {
            catalogue.CODEX.name: self._codex,
            catalogue.CODEX_REPLY.name: self._codex_reply,
            catalogue.CODEX_WAIT.name: self._codex_wait,
        }

    async def run(self, call: Call, name: str, arguments: Json | None) -> Result:
        """Run one call to its end."""
        body = self._bodies.get(name)
        if body is None:
            return results.refused(f"Unknown tool '{name}'")
        if arguments is None and name in MISSING:
            return results.refused(MISSING[name])
        call.begin()
        try:
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
        thread = await self._book.start(new.spec)
        with about(thread=thread.id):
            logger.info("thread started in %s", thread.cwd)
            call.events = events_of(arguments, self._settings)
            turn = thread.submit(spec, call, full_events=call.events is Events.FULL)
            for warning in new.warnings:
                call.event_happened(thread.id, Event("", {"type": "warning", "message": warning}))
            return await _followed(call, thread, turn, arguments)

    async def _codex_reply(self, call: Call, given: Json) -> Result:
        arguments = reply_arguments(given)
        thread_id = arguments.thread_id
        if thread_id is None:
            return results.refused("Failed to parse thread_id: either threadId or conversationId must be provided")
        try:
            thread = await self._book.find(thread_id)
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
            return await _followed(call, thread, turn, arguments)

    async def _codex_wait(self, call: Call, given: Json) -> Result:
        arguments = wait_arguments(given)
        asked = arguments.thread_ids
        threads = list(self._book) if asked is None else [self._known(thread_id) for thread_id in asked]
        turns = [turn for thread in threads for turn in _turns_of(thread, named=asked is not None)]
        running = [turn for turn in turns if not turn.ended]
        if running and len(running) == len(turns) and arguments.timeout_seconds != 0:
            await call.wait_for_one(running, call.patience(arguments.timeout_seconds))
        for turn in turns:
            turn.delivered = turn.delivered or turn.ended
        return results.wait_result([turn.outcome for turn in turns])

    def _known(self, thread_id: str) -> Thread:
        thread = self._book.known(thread_id)
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


async def _followed(call: Call, thread: Thread, turn: Turn, arguments: TurnArguments) -> Result:
    patience = 0.0 if arguments.background else call.patience(arguments.wait_seconds)
    return results.turn_result(await call.follow(thread, turn, patience))
