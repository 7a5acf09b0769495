"""Typed calls to one running `codex app-server`; its decoded notifications and questions go to a listener.

A flooded app-server silently drops requests. So at most `max_requests_in_flight` are open at once, each with a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from codex_mcp import __version__
from codex_mcp.base.blocking import in_thread
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.codex.config.overrides import Config, flattened, of_thread
from codex_mcp.codex.config.permissions import (
    READ_ONLY,
    Grant,
    Permissions,
    names_sandbox,
    needs_configuration,
    permissions_for,
    with_entries,
)
from codex_mcp.codex.config.sandbox_profile import OURS
from codex_mcp.codex.conversation.goals import pause_goal
from codex_mcp.codex.conversation.recorded_turns import loss_of
from codex_mcp.codex.core import (
    AFTER_LOSS,
    PLAIN,
    AnswerUnreadable,
    ConfigRefused,
    CoreError,
    CoreListener,
    CoreLost,
    OpenedThread,
    ThreadSpec,
    TurnInput,
    TurnSpec,
)
from codex_mcp.codex.environments import CoreEnvironments, EnvironmentState, Reach, reach_directly
from codex_mcp.codex.facts import fact_of
from codex_mcp.codex.process import CoreProcess, in_time
from codex_mcp.codex.reading import must_be_whole, read_notification, read_question, thread_of, too_long
from codex_mcp.codex.refusals import refusal
from codex_mcp.codex.rollout import read_rollout, sandbox_to_restore
from codex_mcp.codex.taps import TOKENS, Taps
from codex_mcp.codex.thread_requests import given, opening_of, setup_of, turn_of
from codex_mcp.codex.versions.release import Release
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.errors import AnswerTooLong, ConnectionLost, RequestFailed, request_failed
from codex_mcp.rpc.peer import Handlers, Pace, Peer
from codex_mcp.rpc.watched import watched
from codex_mcp.wire.app import requests
from codex_mcp.wire.app.history import ReadThread, ReadThreadAnswer
from codex_mcp.wire.app.items import UNREADABLE
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, SERVER_BUSY, Malformed, Notification, Request

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

OVERLOAD_DELAYS: Final = (0.05, 0.2, 0.8)
"""Seconds before a request to an overloaded app-server is repeated. It works off its queue of 128 within 0.1 s."""

CLIENT: Final = requests.ClientInfo(name="codex-mcp-server", title="codex-mcp", version=__version__)

WAITS_FOR_OTHERS: Final = ("environment/add", "environment/info")
"""Requests that an exec-server answers: a timeout is not the core's fault."""

UNHEARD: Final = ("thread/status/changed", "thread/readState/changed")
"""Notifications that Codex sends three times in every turn and that are not used here."""


class AppServerSetup(Struct, frozen=True):
    overrides: Config = {}
    """Of every thread's configuration."""
    reach: Reach = reach_directly
    """How it reaches environments."""
    hidden: Callable[[], Sequence[str]] = tuple
    """Existing paths that no thread with network access may read."""
    release: Release = Release()


class AppServer:
    """One running app-server."""

    resumes = True
    leaves = True
    after_loss = AFTER_LOSS

    def __init__(
        self,
        channel: Channel,
        listener: CoreListener,
        settings: CoreSettings,
        pace: Pace,
        setup: AppServerSetup | None = None,
    ) -> None:
        setup = setup or AppServerSetup()
        self._listener = listener
        self._settings = settings
        self._overrides = setup.overrides
        self._hidden = setup.hidden
        self._release = setup.release
        self.process: CoreProcess | None = None
        self.taps = Taps()
        ask = partial(self.request, answer_type=Raw)
        self._environments = CoreEnvironments(settings.environments, setup.reach, ask)
        self._slots = asyncio.Semaphore(settings.max_requests_in_flight)
        self._peer = Peer(
            watched(channel, "Codex"),
            Handlers(self._request_received, self._notification_received, self._message_shortened),
            # The core asks one question per pending approval; far more would be a flood.
            max_requests=4096,
            pace=pace,
            version_required=False,
        )

    def run(self) -> Coroutine[Any, Any, None]:
        return self._peer.run()  # not awaited here: each message would pass through this call

    async def aclose(self) -> None:
        await self._peer.aclose()
        self.taps.gone()
        await self._environments.aclose()

    async def initialize(self) -> requests.Initialized:
        params = requests.Initialize(CLIENT, requests.ClientCapabilities(opt_out_notification_methods=UNHEARD))
        raw = await self.request("initialize", params, Raw)
        self.taps.greeted(raw)
        self._peer.notify("initialized")
        return decoded("initialize", raw, requests.Initialized)

    def environments(self) -> dict[str, EnvironmentState]:
        return self._environments.states()

    def why_lost(self, thread_id: str) -> str:
        """Always empty: every thread can be loaded again."""
        return ""

    async def start_thread(self, spec: ThreadSpec) -> OpenedThread:
        """The folder of the thread does not become trusted."""
        async with self._environments.used(spec.environment) as stays:
            spec = self._overridden(spec)
            permissions = await self._permissions(spec)
            grant = permissions.grant and with_entries(permissions.grant, spec, self._hidden())
            opened = await self._open(*opening_of(spec, setup_of(spec, grant) | {"sandbox": given(permissions.start)}))
            if grant is not None:
                opened = await self._grant(opened, grant)
            stays(opened.thread_id)
            return opened

    def _overridden(self, spec: ThreadSpec) -> ThreadSpec:
        return replace(spec, config=of_thread(self._overrides, spec.config))

    async def _permissions(self, spec: ThreadSpec) -> Permissions:
        if not needs_configuration(spec):
            return permissions_for(spec, requests.Configuration(), "")
        read = requests.ConfigRead(cwd=given(spec.cwd))
        try:
            configured = await self.request("config/read", read, requests.Configuration)
        except CoreLost:
            raise
        except CoreError as exc:
            # The error of thread/start names the line.
            config = dict(spec.config) or UNSET
            start = requests.ThreadStart(cwd=given(spec.cwd), sandbox=READ_ONLY, config=config)
            opened = await self._open("thread/start", start)
            await self.unload_thread(opened.thread_id)
            raise ConfigRefused(str(exc)) from exc
        return permissions_for(spec, configured, _home())

    async def _grant(self, opened: OpenedThread, grant: Grant) -> OpenedThread:
        """Give a thread that was started read-only its sandbox. A thread that cannot get it is unloaded."""
        try:
            await self._set_sandbox(opened.thread_id, grant)
        except CoreError:
            with contextlib.suppress(CoreError):
                await self.unload_thread(opened.thread_id)
            raise
        if grant.policy is None or opened.answer is None:
            return opened
        sandbox = msgspec.convert(grant.policy, requests.Sandbox)
        return replace(opened, answer=replace(opened.answer, sandbox=sandbox))

    async def _set_sandbox(self, thread_id: str, grant: Grant) -> None:
        policy = UNSET if grant.policy is None else dict(grant.policy)
        params = requests.ThreadSettings(thread_id, sandbox_policy=policy, permissions=given(grant.profile))
        if grant.entries:
            try:
                await self.request("thread/settings/update", requests.ThreadSettings(thread_id, permissions=OURS), Raw)
            except CoreLost:
                raise
            except CoreError as exc:  # an administrator may allow only certain profiles
                logger.warning("a thread has only its plain sandbox: Codex refused our permission profile: %s", exc)
            else:
                return
        await self.request("thread/settings/update", params, Raw)

    async def resume_thread(self, thread_id: str, spec: ThreadSpec) -> OpenedThread:
        """Load a thread from disk, with its last sandbox unless `spec` names another."""
        asked, spec = spec, self._overridden(spec)
        before = await self._entries_to_restore(thread_id, asked, spec)
        setup = setup_of(spec, before) | ({} if before is None else {"sandbox": READ_ONLY})
        params = requests.ThreadResume(thread_id=thread_id, exclude_turns=True, **setup)
        goal = await pause_goal(self, thread_id)
        opened = await self._open("thread/resume", params)
        rollout = await in_thread(read_rollout, opened.rollout_path)
        interrupted = rollout.turns is not None and rollout.turns.was_interrupted
        loss = await loss_of(self, opened, rollout.turns)
        opened = replace(opened, paused_goal=goal, loss=loss, was_interrupted=interrupted)
        grant = before or sandbox_to_restore(asked, rollout)
        return opened if grant is None else await self._grant(opened, grant)

    async def _entries_to_restore(self, thread_id: str, asked: ThreadSpec, spec: ThreadSpec) -> Grant | None:
        """The grant of a thread that is to be loaded, if it has entries: they are part of its configuration."""
        hidden = self._hidden()
        if not hidden and not spec.entries:
            return None
        if names_sandbox(asked):
            grant = (await self._permissions(spec)).grant
        else:
            try:
                found = await self.request("thread/read", ReadThread(thread_id), ReadThreadAnswer)
            except CoreLost:
                raise
            except CoreError:
                return None  # thread/resume says what is wrong
            grant = sandbox_to_restore(asked, await in_thread(read_rollout, found.thread.path))
        grant = None if grant is None else with_entries(grant, spec, hidden)
        return grant if grant is not None and grant.entries else None

    async def start_turn(self, thread_id: str, spec: TurnSpec, thread: ThreadSpec = PLAIN) -> str:
        async with self._environments.used(thread.environment if spec.runs_commands else None) as stays:
            stays(thread_id)
            return await self._begin_turn(thread_id, spec, thread)

    async def _begin_turn(self, thread_id: str, spec: TurnSpec, thread: ThreadSpec) -> str:
        try:
            if spec.review is not None:
                review = requests.ReviewStart(thread_id, spec.review)
                return (await self.request("review/start", review, requests.TurnStartResponse)).turn.id
            params = turn_of(thread_id, spec, thread)
            return (await self.request("turn/start", params, requests.TurnStartResponse)).turn.id
        except AnswerUnreadable as exc:
            self._give_up(f"has begun a turn that is not known here ({exc})")
            raise

    async def interrupt_turn(self, thread_id: str, turn_id: str) -> None:
        await self.request("turn/interrupt", requests.TurnInterrupt(thread_id, turn_id), Raw)

    async def steer_turn(
        self,
        thread_id: str,
        expected_turn_id: str,
        input: Sequence[TurnInput],  # noqa: A002
        message_id: str = "",
    ) -> None:
        params = requests.TurnSteer(thread_id, expected_turn_id, list(input), message_id or UNSET)
        await self.request("turn/steer", params, Raw)

    async def tell_model(self, thread_id: str, item: Mapping[str, object]) -> None:
        await self.request("thread/inject_items", requests.InjectItems(thread_id, [dict(item)]), Raw)

    async def running_commands(self, thread_id: str) -> dict[str, str]:
        params = requests.ThreadId(thread_id)
        terminals = await self.request("thread/backgroundTerminals/list", params, requests.Terminals)
        return {terminal.item_id: terminal.process_id for terminal in terminals.data}

    async def terminate_command(self, thread_id: str, process_id: str) -> None:
        params = requests.TerminateTerminal(thread_id, process_id)
        await self.request("thread/backgroundTerminals/terminate", params, Raw)

    async def unload_thread(self, thread_id: str) -> None:
        await self.request("thread/unsubscribe", requests.ThreadId(thread_id), Raw)
        self._environments.left(thread_id)

    async def account(self) -> requests.Account:
        return await self.request("account/read", requests.AccountRead(), requests.Account)

    async def _open(self, method: str, params: object) -> OpenedThread:
        raw = await self.request(method, params, Raw)
        try:
            answer = msgspec.json.decode(raw, type=requests.ThreadOpened)
        except UNREADABLE:  # a field that only events show: the thread opens without session_configured
            needed = decoded(method, raw, requests.ThreadLocation)
            return OpenedThread(needed.thread.id, needed.cwd, needed.thread.path)
        return OpenedThread(answer.thread.id, answer.cwd, answer.thread.path, answer, raw)

    async def request(
        self, method: str, params: object, answer_type: type[Answer], timeout: float | None = None
    ) -> Answer:
        patience = self._settings.request_timeout if timeout is None else timeout
        try:
            async with self._slots if timeout is None else contextlib.nullcontext():
                raw = await self._ask(method, params, patience)
        except ConnectionLost as exc:
            if self.process is not None:
                raise await self.process.why_lost() from exc
            raise CoreLost(f"Codex ended before it answered {method}") from exc
        except TimeoutError as exc:
            raise self._did_not_answer(method, patience) from exc
        except AnswerTooLong as exc:
            text = f"Codex's answer to {method} is too long ({exc}); raise the setting max_message_bytes"
            raise AnswerUnreadable(text) from exc
        except RequestFailed as exc:
            raise refusal(self._release.explained(exc.error.message, self._asked_config(params))) from exc
        if answer_type is Raw:
            return raw  # type: ignore[return-value]  # Raw is the type that was asked for
        return decoded(method, raw, answer_type)

    def _asked_config(self, params: object) -> Config:
        """The configuration that came with a call, without the server's own."""
        config = getattr(params, "config", UNSET)
        if not isinstance(config, dict):
            return {}
        ours = flattened(self._overrides)
        return {key: value for key, value in config.items() if key not in ours or ours[key] != value}

    def _did_not_answer(self, method: str, patience: float) -> CoreError:
        silence = f"did not answer {method} within {patience:g} seconds"
        if method in WAITS_FOR_OTHERS:
            return CoreError(f"Codex {silence}")
        # It may still carry out the request, unseen.
        self._give_up(silence)
        return CoreError(f"Codex {silence} and was stopped; the next call starts a new one")

    def _give_up(self, fault: str) -> None:
        if self.process is not None:
            self.process.give_up(fault)

    async def _ask(self, method: str, params: object, patience: float) -> Raw:
        for delay in OVERLOAD_DELAYS:
            try:
                return await self._ask_once(method, params, patience)
            except RequestFailed as exc:
                if exc.error.code != SERVER_BUSY:
                    raise
                logger.warning("the core is overloaded; asking %s again in %g s", method, delay)
                await asyncio.sleep(delay)
        return await self._ask_once(method, params, patience)

    async def _ask_once(self, method: str, params: object, patience: float) -> Raw:
        if self.process is not None:
            self.process.check_asked(method)
        pending = self._peer.start(method, params)
        try:
            return await in_time(pending.answer, patience, self.process)
        finally:
            if pending.answer.cancelled():
                self._peer.forget(pending)

    def _notification_received(self, message: Notification) -> None:
        if message.method == "configWarning":
            logger.info("Codex warns of its configuration: %s", bytes(message.params).decode())
        note = read_notification(message.method, message.params)
        if note is not None:
            if note.thread_id in self.taps.of or message.method == TOKENS:
                self.taps.notified(note.thread_id or "", message)
            self._listener.notification_received(note.thread_id or "", note, fact_of(note))

    def _message_shortened(self, message: Request | Notification | Malformed, reason: str) -> None:
        if isinstance(message, Malformed):
            self._give_up(f"sent what cannot be read ({reason})")
            return
        is_question = isinstance(message, Request)
        if is_question or must_be_whole(message.method, message.params):
            why = too_long(message.method, reason)
            self._listener.turn_unreadable(thread_of(message.params), why, is_question=is_question)

    def _request_received(self, request: Request) -> Coroutine[Any, Any, object]:
        asked = read_question(request.method, request.params)
        if not asked.thread_id:
            raise request_failed(METHOD_NOT_FOUND, f"{request.method} is not offered here")
        self.taps.asked(request)
        return self._listener.question_received(request.id, asked)


def decoded(method: str, raw: Raw, answer_type: type[Answer]) -> Answer:
    """Raises CoreError."""
    try:
        return msgspec.json.decode(raw, type=answer_type)
    except UNREADABLE as exc:
        raise CoreError(f"Codex answered {method} in a form that this release cannot read: {exc}") from exc


def _home() -> str:
    return os.path.expanduser("~")
