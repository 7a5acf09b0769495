"""An old Codex (0.103 to 0.153) as a core: one `codex mcp-server` for all threads.

A thread begins with its first prompt, and has a provisional id until Codex assigns one. Turns are calls of `codex` and
`codex-reply`. Their progress is read from the events, because an answer may belong to another call
(`codex.legacy.thread` explains why). Features that an old Codex lacks are refused with a reason.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.futures import in_time, resolve
from codex_mcp.base.processes.marks import variables
from codex_mcp.base.processes.termination import end_processes
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.codex.app_server import CLIENT, decoded
from codex_mcp.codex.core import (
    PLAIN,
    CannotResume,
    CannotSteer,
    CoreError,
    CoreListener,
    CoreLost,
    Event,
    OpenedThread,
    ThreadSpec,
    TurnSpec,
)
from codex_mcp.codex.facts import QuestionWithdrawn, TokensCounted, TurnEnded, fact_of, tokens_of
from codex_mcp.codex.legacy.calls import (
    REPLY,
    START,
    Abilities,
    abilities,
    check_turn,
    denial,
    failure_of,
    left_out,
    reply_arguments,
    start_arguments,
)
from codex_mcp.codex.legacy.facts import fact_of_event
from codex_mcp.codex.legacy.thread import LegacyThread
from codex_mcp.codex.process import CoreProcess
from codex_mcp.codex.reading import belongs_to, must_be_whole, too_long
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, request_failed
from codex_mcp.rpc.peer import Handlers, Pace, Peer, PendingCall
from codex_mcp.rpc.watched import watched
from codex_mcp.wire import legacy
from codex_mcp.wire.app import requests
from codex_mcp.wire.app.items import UNREADABLE, Failure, Turn
from codex_mcp.wire.app.notifications import TurnCompleted
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Id, Malformed, Notification, Request

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

PROTOCOL: Final = "2025-06-18"
"""The revision that it follows; it echoes any other."""

EVENT: Final = "codex/event"

COMMAND_MARK: Final = "CODEX_THREAD_ID"
"""Codex sets this variable to the thread's id in the environment of every command."""

_note = msgspec.json.Decoder(legacy.EventNote)


class OldRelease(Struct, frozen=True):
    version: str
    config: Mapping[str, object]
    """For every thread, since it does not apply its own `-c` to them."""


class LegacyCore:
    """One running `codex mcp-server`."""

    resumes = False

    def __init__(
        self, channel: Channel, listener: CoreListener, settings: CoreSettings, pace: Pace, release: OldRelease
    ) -> None:
        self.version = version = release.version
        self.after_loss = f"Its threads are lost, since Codex {version} cannot resume them: start a new one with codex."
        self._listener = listener
        self._settings = settings
        self._config = release.config
        self._able = Abilities(version, {})
        self.process: CoreProcess | None = None
        self._has_ended = False
        self._threads: dict[str, LegacyThread] = {}
        self._beginning: dict[LegacyThread, asyncio.Future[str]] = {}
        self._peer = Peer(
            watched(channel, "Codex"),
            Handlers(self._request_received, self._notification_received, self._message_shortened),
            max_requests=4096,  # one question per pending approval; far more would be a flood
            pace=pace,
        )

    @property
    def leaves(self) -> bool:
        """Codex ends when its stdin does, unless a call is unanswered."""
        return all(thread.newest_call is None for thread in self._threads.values())

    async def run(self) -> None:
        try:
            await self._peer.run()
        finally:
            self._has_ended = True

    async def aclose(self) -> None:
        await self._peer.aclose()

    async def initialize(self) -> requests.Initialized:
        """Also reads the arguments of its tools."""
        hello = {
            "protocolVersion": PROTOCOL,
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": CLIENT.name, "title": CLIENT.title, "version": CLIENT.version},
        }
        answer = decoded("initialize", await self._ask("initialize", hello), legacy.Initialized)
        self._peer.notify("notifications/initialized")
        tools = decoded("tools/list", await self._ask("tools/list", {}), legacy.Tools)
        self._able = abilities(self.version, tools)
        return requests.Initialized(user_agent=answer.server_info.user_agent)

    async def start_thread(self, spec: ThreadSpec) -> OpenedThread:
        """Prepare a thread, which begins with its first turn."""
        if missing := left_out(spec, self._able):
            logger.warning("Codex %s does not take %s: left out", self.version, ", ".join(missing))
        thread = LegacyThread(str(uuid.uuid4()), spec)
        self._threads[thread.id] = thread
        return self._opened(thread)

    async def resume_thread(self, thread_id: str, spec: ThreadSpec) -> OpenedThread:
        """Find a thread of this process; no other can be resumed."""
        self._check_whole(known := self._known(thread_id))
        return self._opened(known)

    def why_lost(self, thread_id: str) -> str:
        """Why a thread can never continue: one of its turns has failed, or Codex has ended."""
        if self._has_ended:  # which is known some moments before it is known how
            return f"Codex has ended. {self.after_loss}"
        known = self._threads.get(thread_id)
        if known is None or not known.is_spoiled:
            return ""
        return (
            f"Codex {self.version} cannot go on with thread {known.id}: after a failed turn it would answer each "
            "prompt with the answer to the one before; start a new thread with codex"
        )

    async def start_turn(self, thread_id: str, spec: TurnSpec, thread: ThreadSpec = PLAIN) -> str:
        known = self._known(thread_id)
        check_turn(spec, known.spec, self.version)
        self._check(known)
        prompt = f"{spec.preface}\n\n{spec.prompt}" if spec.preface else spec.prompt
        if known.is_named:
            pending = self._call(REPLY, reply_arguments(known.id, prompt))
        else:
            pending = self._call(START, start_arguments(known.spec, prompt, self._config, self._able))
        known.sent(pending.id)
        began: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._beginning[known] = began
        pending.answer.add_done_callback(partial(self._answered, known, pending.id))
        try:
            async with asyncio.timeout(self._settings.request_timeout) as limit:
                return await in_time(began, limit)
        except CoreLost as exc:
            raise await self._why_lost(str(exc)) from exc
        except TimeoutError as exc:
            self._cancel(known)
            known.is_unwanted = True  # it ignores the cancellation of a call whose turn has not begun
            raise CoreError(f"Codex did not begin the turn within {self._settings.request_timeout:g} seconds") from exc
        finally:
            self._beginning.pop(known, None)

    async def interrupt_turn(self, thread_id: str, turn_id: str) -> None:
        known = self._known(thread_id)
        if known.turn_id == turn_id:
            self._cancel(known)

    async def steer_turn(self, thread_id: str, expected_turn_id: str, input: object, message_id: str = "") -> None:  # noqa: A002
        raise CannotSteer(f"Codex {self.version} takes no input while a turn runs")

    async def tell_model(self, thread_id: str, item: Mapping[str, object]) -> None:
        raise CoreError(f"Codex {self.version} takes nothing but prompts")

    async def running_commands(self, thread_id: str) -> dict[str, str]:
        """Item ids only: an old Codex does not report process ids, and none are needed."""
        return {item_id: item_id for item_id in self._known(thread_id).commands}

    async def terminate_command(self, thread_id: str, process_id: str) -> None:
        """Kill all commands of the thread, which an interrupt leaves running. They are found on Linux only."""
        await in_thread(end_processes, lambda pid: variables(pid, (COMMAND_MARK,)) == {COMMAND_MARK: thread_id})

    async def unload_thread(self, thread_id: str) -> None:
        """Only a thread that never began is forgotten: an old Codex could not load others again."""
        known = self._threads.get(thread_id)
        if known is not None and not known.is_named and not known.is_busy:
            del self._threads[thread_id]

    async def account(self) -> requests.Account:
        """Unknown: an old Codex cannot be asked."""
        return requests.Account()

    async def request(
        self, method: str, params: object, answer_type: type[Answer], timeout: float | None = None
    ) -> Answer:
        raise CoreError(f"Codex {self.version} does not offer {method}; use Codex 0.163 or newer")

    def _opened(self, thread: LegacyThread) -> OpenedThread:
        return OpenedThread(thread.id, thread.spec.cwd or os.getcwd(), is_provisional=not thread.is_named)

    def _known(self, thread_id: str) -> LegacyThread:
        known = self._threads.get(thread_id)
        if known is None:
            raise CannotResume(
                f"Codex {self.version} cannot resume thread {thread_id}: it knows only the threads of its own process; "
                "start a new one with codex"
            )
        return known

    def _check_whole(self, known: LegacyThread) -> None:
        if why := self.why_lost(known.id):
            raise CannotResume(why)

    def _check(self, known: LegacyThread) -> None:
        self._check_whole(known)
        if known.is_busy:
            raise CoreError(f"Codex is still busy with a turn of thread {known.id} that was stopped and did not end")

    async def _ask(self, method: str, params: object) -> Raw:
        try:
            async with asyncio.timeout(self._settings.request_timeout):
                return await self._peer.call(method, params)
        except ConnectionLost as exc:
            raise await self._why_lost(f"Codex ended before it answered {method}") from exc
        except TimeoutError as exc:
            raise CoreError(f"Codex did not answer {method} within {self._settings.request_timeout:g} seconds") from exc
        except RequestFailed as exc:
            raise CoreError(exc.error.message) from exc

    async def _why_lost(self, otherwise: str) -> CoreLost:
        return CoreLost(otherwise) if self.process is None else await self.process.why_lost()

    def _call(self, tool: str, arguments: Mapping[str, object]) -> PendingCall:
        return self._peer.start("tools/call", {"name": tool, "arguments": arguments})

    def _cancel(self, known: LegacyThread) -> None:
        if (call := known.newest_call) is not None:
            self._peer.notify(
                "notifications/cancelled", {"requestId": call, "reason": "the turn is not wanted any longer"}
            )

    def _answered(self, known: LegacyThread, call: Id, answer: asyncio.Future[Raw]) -> None:
        if answer.cancelled():
            return
        failure = failure_of(answer.exception() or answer.result())
        unheard = known.answered(call, failed=failure is not None)
        if unheard is None or isinstance(failure, CoreLost):
            self._begin_failed(known, failure)
        elif unheard.turn_id:
            self._fail_turn(known, unheard.turn_id, str(failure or "Codex answered before the turn had ended"))
        else:
            self._begin_failed(known, failure or CoreError("Codex answered before the turn had begun"))

    def _begin_failed(self, known: LegacyThread, failure: CoreError | None) -> None:
        began = self._beginning.get(known)
        if began is not None and failure is not None and not began.done():
            began.set_exception(failure)

    def _fail_turn(self, known: LegacyThread, turn_id: str, why: str) -> None:
        """Report the end of the turn, which an old Codex omits here."""
        ended = TurnCompleted(Turn(turn_id, "failed", Failure(why)), thread_id=known.id)
        self._listener.notification_received(known.id, ended, fact_of(ended))
        self._withdraw_questions(known)

    def _withdraw_questions(self, known: LegacyThread) -> None:
        for question in list(known.questions):
            self._listener.notification_received(known.id, None, QuestionWithdrawn(question))

    def _message_shortened(self, message: Request | Notification | Malformed, reason: str) -> None:
        if isinstance(message, Malformed):
            if self.process is not None:
                self.process.give_up(f"sent what cannot be read ({reason})")
            return
        is_question = isinstance(message, Request)
        known = self._thread_of(*belongs_to(message.params))
        if known is not None and (is_question or must_be_whole(message.method, message.params)):
            self._listener.turn_unreadable(known.id, too_long(message.method, reason), is_question=is_question)

    def _notification_received(self, message: Notification) -> None:
        if message.method != EVENT:
            return
        try:
            note = _note.decode(message.params)
            msg = msgspec.convert(note.msg, legacy.EventMsg)
        except UNREADABLE as exc:
            logger.warning("cannot read an event of Codex: %s", exc)
            return
        known = self._thread_of(note.meta.thread_id, note.meta.request_id)
        if known is None:
            logger.info("Codex sent %s of a thread that is not open here", msg.type)
            return
        own_id = note.meta.thread_id or msg.session_id
        if own_id and not known.is_named:
            self._name(known, own_id)
        self._event(known, Event(note.id, note.msg), msg)

    def _thread_of(self, thread_id: str | None, call: Id | None) -> LegacyThread | None:
        if thread_id is not None and (known := self._threads.get(thread_id)) is not None:
            return known
        if call is None:
            return None
        return next((known for known in self._threads.values() if not known.is_named and known.reads(call)), None)

    def _name(self, known: LegacyThread, thread_id: str) -> None:
        provisional = known.id
        del self._threads[provisional]
        known.named(thread_id)
        self._threads[thread_id] = known
        self._listener.thread_named(provisional, thread_id)

    def _event(self, known: LegacyThread, event: Event, msg: legacy.EventMsg) -> None:
        turn_id = msg.turn_id or event.turn_id
        match msg.type:
            case "exec_approval_request":
                known.announced(msg.call_id, event.msg)
            case "exec_command_begin":
                known.commands[msg.call_id] = None
            case "exec_command_end":
                known.commands.pop(msg.call_id, None)
            case "task_started":
                self._turn_has_begun(known, turn_id)
            case "error":
                known.failure = msg.message
            case "elicitation_request" | "request_permissions":
                self._cannot_be_answered(known, msg.type)
            case "task_complete" | "turn_aborted":
                self._turn_is_over(known, turn_id, msg)
        self._listener.notification_received(known.id, event, fact_of_event(turn_id, msg))
        if msg.info is not None and (last := known.used(total := msg.info.total_token_usage)) is not None:
            counted = TokensCounted(turn_id, tokens_of(total), tokens_of(last))
            self._listener.notification_received(known.id, None, counted)
        if msg.type == "task_started":
            self._has_begun(known, turn_id)

    def _cannot_be_answered(self, known: LegacyThread, question: str) -> None:
        """Codex waits for an answer, but has sent no request that could be answered."""
        if not known.failure:
            known.failure = f"Codex {self.version} asked for an approval ({question}) that no client can answer"
            self._cancel(known)

    def _turn_is_over(self, known: LegacyThread, turn_id: str, msg: legacy.EventMsg) -> None:
        if not known.ended(turn_id):
            return
        if known.failure and msg.last_agent_message is None:
            self._listener.notification_received(known.id, None, TurnEnded(turn_id, "failed", known.failure))
        self._withdraw_questions(known)

    def _turn_has_begun(self, known: LegacyThread, turn_id: str) -> None:
        known.started(turn_id)
        if known.is_unwanted:
            self._cancel(known)

    def _has_begun(self, known: LegacyThread, turn_id: str) -> None:
        resolve(self._beginning.get(known), turn_id)

    def _request_received(self, request: Request) -> Coroutine[Any, Any, object]:
        if request.method != legacy.LegacyApproval.method:
            raise request_failed(METHOD_NOT_FOUND, f"{request.method} is not offered here")
        return self._ask_listener(request)

    async def _ask_listener(self, request: Request) -> object:
        """Pass on a question. It is always answered: after an error, Codex would wait forever."""
        try:
            asked = msgspec.json.decode(request.params, type=legacy.Elicitation)
            known = self._threads.get(asked.thread_id or "")
            if known is None:
                return denial("the thread is not open here")
            announced = msgspec.convert(known.announcement(asked.codex_call_id), legacy.Announcement)
        except UNREADABLE as exc:
            return denial(f"the question could not be read: {exc}")
        known.questions[request.id] = None
        try:
            return await self._listener.question_received(request.id, legacy.LegacyApproval(asked, announced))
        finally:
            known.questions.pop(request.id, None)
