"""`codex`, `codex-reply` and `codex_wait` without a team (`codex-mcp mcp-server`)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from codex_mcp.base.logs import stay_about
from codex_mcp.base.printable import are_waiting
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.kinds import Events
from codex_mcp.codex.core import BadThreadId, CoreError, Event, ThreadNotFound, plain_id
from codex_mcp.mcp.asking.elicitation import client_question, fetched_question
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.follower import Follower, Said
from codex_mcp.mcp.calls.stored_answers import StoredAnswers
from codex_mcp.mcp.calls.waiting import NamedThreads, OwnThreads, Wait, WaitView, own_turns
from codex_mcp.mcp.schema import catalogue, results
from codex_mcp.mcp.schema.arguments import CodexArguments, ReplyArguments, WaitArguments, translated
from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.mcp.schema.results import GoesOn, Result
from codex_mcp.mcp.tools.dispatch import Bodies, Json, Tools
from codex_mcp.mcp.tools.specs import in_default_folder, new_thread, new_turn, reply_turn
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import QueueFull

if TYPE_CHECKING:
    from codex_mcp.mcp.tools.session_tools import SessionTools

logger = logging.getLogger(__name__)


class CodexTools:
    def __init__(
        self, threads: Threads, settings: Settings, key: bytes, listed: Sequence[catalogue.Tool] = catalogue.TOOLS
    ) -> None:
        self._threads = threads
        self._settings = settings
        self._listed = listed
        self.follower = Follower(threads, settings.calls, key, self.says)
        self._stored = StoredAnswers(threads)
        self._sessions_used: SessionTools | None = None

    def tools(self) -> Tools:
        bodies: Bodies = [
            (catalogue.CODEX, self._codex),
            (catalogue.CODEX_REPLY, self._codex_reply),
            (catalogue.CODEX_WAIT, self._codex_wait),
        ]
        if len(self._listed) > len(bodies):
            bodies = [*bodies, *self._sessions.bodies()]
        at_once = {catalogue.CODEX_WAIT.name: self._nothing_to_wait_for}
        return Tools(
            {tool.name: (tool, body) for tool, body in bodies},
            self.follower,
            self._threads.supervisor.warm_up,
            at_once,
        )

    @property
    def _sessions(self) -> SessionTools:
        if self._sessions_used is None:
            from codex_mcp.mcp.tools.session_tools import SessionTools  # noqa: PLC0415  few servers need it at the start

            self._sessions_used = SessionTools(self._threads, self._settings, self.follower, self._listed)
        return self._sessions_used

    def says(self, thread_id: str) -> Said:
        """What results say about a thread, besides its turn."""
        names = {} if self._sessions_used is None else self._sessions_used.names(thread_id)
        thread, warns = self._threads.open_thread(thread_id), self._threads.account.warnings()
        if thread is None:
            return Said(names, [], GoesOn.REPLY, warns)
        goes_on = GoesOn.NEW_THREAD if thread.gone else GoesOn.REPLY
        return Said({**names, **thread.own.described()}, _asks(thread.unfinished()), goes_on, warns)

    async def aclose(self) -> None:
        if self._sessions_used is not None:
            await self._sessions_used.aclose()

    async def _codex(self, call: Call, asked: CodexArguments) -> Result:
        if asked.session_id is not None:
            return await self._sessions.codex(call, asked)
        arguments, warnings = translated(asked)
        arguments = await in_default_folder(call, arguments, self._settings.core)
        new = new_thread(arguments, self._settings)
        spec = new_turn(arguments, new.spec.cwd or ".")
        async with call.opening():
            thread = await self._threads.start(new.spec, call.principal)
        call.send_events(arguments.events)
        stay_about(call.subject._replace(thread=thread.id))
        logger.info("thread started in %s", thread.cwd)
        turn = thread.submit(spec, call, full_events=call.events is Events.FULL)
        turn.record.warn(warnings)
        for warning in new.warnings:
            call.event_happened(thread.id, Event("", {"type": "warning", "message": warning}))
        return await self.follower.follow(call, thread, turn, arguments)

    async def _codex_reply(self, call: Call, arguments: ReplyArguments) -> Result:
        thread_id = arguments.thread
        if thread_id is None:
            return results.refused("Failed to parse thread_id: either threadId or conversationId must be provided")
        reader = self.follower.reader(call)
        try:
            async with call.opening():
                thread = await self._threads.find(thread_id, call.principal)
        except BadThreadId as exc:
            return results.refused(f"Failed to parse thread_id: {exc}")
        except ThreadNotFound:
            return results.refused_in_thread(f"Session not found for thread_id: {thread_id}", thread_id, reader)
        except CoreError as exc:
            return results.refused_in_thread(f"Failed to resume thread {thread_id}: {exc}", thread_id, reader)
        stay_about(call.subject._replace(thread=thread.id))
        call.send_events(arguments.events)
        spec = reply_turn(arguments, thread.cwd)
        try:
            turn = thread.submit(spec, call, full_events=call.events is Events.FULL)
        except QueueFull as exc:
            text = f"Thread {thread.id} is busy and {are_waiting(exc.limit)} already; wait for one to end."
            return results.refused_in_thread("\n\n".join([text, *_asks(thread.unfinished())]), thread.id, reader)
        if self._sessions_used is not None:
            self._sessions_used.continued(thread.id)
        return await self.follower.follow(call, thread, turn, arguments)

    async def _codex_wait(self, call: Call, arguments: WaitArguments) -> Result:
        asked = arguments.thread_ids
        view: WaitView = OwnThreads(self._threads, call)
        if asked is not None:
            view = await self._find_named(call, [plain_id(each) for each in asked])
        wait = Wait(view, arguments.mode, arguments.repeats, arguments.timeout_seconds, is_named=bool(asked))
        return await self.follower.wait(call, wait, arguments.offset)

    def _nothing_to_wait_for(self, given: Json, principal: str, caller: str) -> Result | None:
        """The answer to a `codex_wait` that names no thread, from a caller that has no turns."""
        try:
            ids = catalogue.CODEX_WAIT.read(given).thread_ids if given else None
        except BadArguments:
            return None  # the tool itself reports the error
        return None if ids or own_turns(self._threads, principal, caller) else results.NOTHING_NEW

    async def _find_named(self, call: Call, thread_ids: Sequence[str]) -> WaitView:
        known = [thread for each in thread_ids if (thread := self._threads.known(each, call.principal)) is not None]
        stored = {}
        for thread_id in {*thread_ids} - {thread.id for thread in known}:
            is_other = thread_id in self._threads.unloaded or await self._threads.owner_of(thread_id) != call.principal
            answer = None if is_other else await self._stored.newest(thread_id, {})
            if answer is None:
                raise BadArguments(
                    f"No turn of thread {thread_id} is known here; codex-reply continues a thread of an earlier server."
                )
            stored[thread_id] = answer
        return NamedThreads(self._threads, call, known, stored)


def _asks(turns: Sequence[Turn]) -> list[str]:
    asked = [client_question(question) for turn in turns for question in turn.parked.asked]
    return asked + [fetched_question(question) for turn in turns for question in turn.parked.open.values()]
