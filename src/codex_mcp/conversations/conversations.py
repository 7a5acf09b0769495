"""The conversations of all clients: starts them, finds each client's own, sends messages, interrupts, adds listeners.

A conversation belongs to an owner, which is a session and its later reconnections. Two owners that resume the same
thread each have a conversation of their own with it.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Final, TypeAlias
from uuid import uuid4

from msgspec import UNSET

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import size_of_regular
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.base.settings.groups import Settings
from codex_mcp.codex.config.overrides import mapped_policy
from codex_mcp.codex.core import (
    LONGEST_IMAGE,
    ConfigRefused,
    CoreError,
    ThreadNotFound,
    ThreadSpec,
    TurnSettings,
    TurnSpec,
    plain_id,
)
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.conversation import Conversation, SharedParts
from codex_mcp.conversations.inputs import local_images, turn_of
from codex_mcp.conversations.listeners import MOST, Listener, Listeners
from codex_mcp.conversations.policies import core_policy
from codex_mcp.conversations.refusals import conversation_not_found, failed, refused, subscription_not_found
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn_queue import QueueFull, QueueShut
from codex_mcp.wire import conversations as wire

KEPT: Final = 1000
"""Conversations of one principal that are known here, as many as its threads. The one unused for longest is forgotten
first; `resumeConversation` brings it back."""

MakeSpec: TypeAlias = Callable[[wire.NewConversation], ThreadSpec]
"""The settings of a thread. Raises Refused."""


class Conversations:
    def __init__(
        self, threads: Threads, settings: Settings, make_spec: MakeSpec, *, takes_tool_threads: bool = True
    ) -> None:
        """`takes_tool_threads`: a thread that a client started with a tool is its conversation too."""
        self.threads = threads
        self._takes_tool_threads = takes_tool_threads
        self.settings = settings
        self._make_spec = make_spec
        self._known: OrderedDict[tuple[str, str], Conversation] = OrderedDict()
        """By owner and thread, the least recently used first."""
        self._listeners: Listeners[Caller] = Listeners()
        self._shared = SharedParts(threads, self._listeners, settings.calls.approval_timeout, self.caller_gone)

    def __len__(self) -> int:
        return len(self._known)

    def spec_of(self, params: wire.NewConversation) -> ThreadSpec:
        try:
            return self._make_spec(params)
        except Refused as exc:
            raise refused(f"error deriving config: {exc}") from exc

    async def new(self, caller: Caller, params: wire.NewConversation) -> wire.ConversationMade:
        spec = self.spec_of(params)
        try:
            await self._check_core()
            thread = await self.threads.start(spec, caller.principal)
        except ConfigRefused as exc:
            raise refused(f"error deriving config: {exc}") from exc
        except (CoreError, Refused) as exc:
            raise failed(f"error creating conversation: {exc}") from exc
        self.adopt(caller, thread.id)
        answer = thread.opened.answer
        return wire.ConversationMade(
            conversation_id=thread.id,
            model="" if answer is None else answer.model,
            reasoning_effort=UNSET if answer is None or answer.reasoning_effort is None else answer.reasoning_effort,
            rollout_path=thread.opened.rollout_path or "",
        )

    async def _check_core(self) -> None:
        """An old Codex names a thread only after its first message, and cannot change settings between turns."""
        if not (await self.threads.supervisor.core()).resumes:
            raise CoreError(f"Codex {self.threads.supervisor.version} is too old for conversations; use 0.163 or newer")

    def adopt(self, caller: Caller, thread_id: str) -> Conversation:
        """Make a thread a conversation of this caller."""
        key = (caller.owner, thread_id)
        self.threads.callers.note(*key)
        if key not in self._known:
            self._known[key] = Conversation(thread_id, caller, self._shared)
            self._known[key].listeners_changed()
            self._make_room(caller.principal)
        return self._known[key]

    def _make_room(self, principal: str) -> None:
        own = [key for key, conversation in self._known.items() if conversation.principal == principal]
        for owner, thread_id in own[:-KEPT]:
            self._forget(owner, thread_id)

    def owned(self, caller: Caller, conversation_id: str) -> Conversation:
        """A conversation of this caller; without a team, so is a thread that it used with a tool."""
        key = (caller.owner, plain_id(conversation_id))
        if key not in self._known:
            if not self._takes_tool_threads or not self.threads.callers.has(*key):
                raise conversation_not_found(conversation_id)
            self.adopt(caller, key[1])
        self._known.move_to_end(key)
        return self._known[key]

    def is_known(self, thread_id: str) -> bool:
        return any(each == thread_id for _, each in self._known)

    def forget(self, thread_id: str) -> None:
        """The thread was archived: it is not a conversation any more."""
        self.threads.archived(thread_id)
        for owner, each in list(self._known):
            if each == thread_id:
                self._forget(owner, each)

    def _forget(self, owner: str, thread_id: str) -> None:
        self._listeners.conversation_gone(owner, thread_id)
        self._known.pop((owner, thread_id)).listeners_changed()
        self._changed({thread_id})

    async def send_message(self, caller: Caller, params: wire.SendUserMessage) -> object:
        conversation = self.owned(caller, params.conversation_id)
        turn_of(params.items, "/")  # reports wrong items before the thread is opened
        thread = await self._open(conversation)
        self._submit(conversation, thread, turn_of(params.items, thread.spec.cwd or thread.cwd))
        return {}

    async def send_turn(self, caller: Caller, params: wire.SendUserTurn) -> object:
        conversation = self.owned(caller, params.conversation_id)
        cwd = _absolute(params.cwd)
        spec = turn_of(params.items, cwd, _turn_settings(params, cwd))
        if not is_elsewhere(self.settings.core.default_environment):
            _check_folder(cwd)
        thread = await self._open(conversation)
        try:
            await self._check_core()
        except (CoreError, Refused) as exc:
            raise failed(f"cannot send a turn: {exc}") from exc
        self._submit(conversation, thread, spec)
        return {}

    def _submit(self, conversation: Conversation, thread: Thread, spec: TurnSpec) -> None:
        for path in local_images(spec):
            try:
                length = size_of_regular(path)
            except (OSError, ValueError) as exc:
                raise refused(f"cannot read the image {path}: it is no file that this server can read") from exc
            if length > LONGEST_IMAGE:
                raise refused(f"cannot read the image {path}: it is longer than {LONGEST_IMAGE} bytes; make it smaller")
        try:
            conversation.submit(thread, spec)
        except QueueFull as exc:
            text = f"conversation {conversation.id} is busy and {exc.limit} more messages wait already"
            raise refused(f"{text}; wait for one to end") from exc
        except QueueShut as exc:
            raise conversation_not_found(conversation.id) from exc
        except Refused as exc:
            raise refused(str(exc)) from exc

    async def _open(self, conversation: Conversation) -> Thread:
        thread = self.threads.open_thread(conversation.id)
        if thread is not None and not thread.gone:
            return thread
        try:
            return await self.threads.find(conversation.id, conversation.principal, shared=conversation.shared)
        except ThreadNotFound as exc:
            raise conversation_not_found(conversation.id) from exc
        except (CoreError, Refused) as exc:
            raise failed(f"cannot open conversation {conversation.id}: {exc}") from exc

    async def interrupt(self, caller: Caller, params: wire.Conversation) -> wire.Interrupted:
        """Answered when the running turn has ended, or at once if none runs. Messages that wait run afterwards."""
        conversation = self.owned(caller, params.conversation_id)
        conversation.interrupted()
        thread = self.threads.open_thread(conversation.id)
        turn = None if thread is None else thread.current
        if thread is not None and turn is not None:
            thread.cancel(turn)
            await turn.wait()
        return wire.Interrupted()

    async def add_listener(self, caller: Caller, params: wire.Conversation) -> wire.Listening:
        conversation = self.owned(caller, params.conversation_id)
        listener = Listener(str(uuid4()), caller.owner, conversation.id, caller)
        if not self._listeners.add(listener):
            raise refused(f"conversation {conversation.id} has {MOST} listeners already; remove one first")
        self._changed({conversation.id})
        return wire.Listening(subscription_id=listener.id)

    async def remove_listener(self, caller: Caller, params: wire.Subscription) -> object:
        listener = self._listeners.remove(caller.owner, params.subscription_id)
        if listener is None:
            raise subscription_not_found(params.subscription_id)
        self._changed({listener.conversation})
        return {}

    def caller_gone(self, caller: Caller) -> None:
        """Its session was closed. Its conversations stay, for when it returns."""
        self._changed({listener.conversation for listener in self._listeners.caller_gone(caller)})

    def owner_gone(self, owner: str) -> None:
        """It does not return: stop its messages, unless another session of its principal listens to them."""
        for (each, _), conversation in self._known.items():
            if each == owner and not conversation.is_heard:
                conversation.cancel_messages()

    def _changed(self, threads: Collection[str]) -> None:
        """Tell the conversations of all owners with these threads: any of them may have a question to ask."""
        for (_, thread_id), conversation in self._known.items():
            if thread_id in threads:
                conversation.listeners_changed()


def _absolute(path: str) -> str:
    return os.path.abspath(path)


def _check_folder(path: str) -> None:
    if not os.path.isdir(path):
        raise refused(f"cwd `{path}` is not a folder; make it first, or name another")


def _turn_settings(params: wire.SendUserTurn, cwd: str) -> TurnSettings:
    return TurnSettings(
        cwd=cwd,
        approval_policy=mapped_policy(params.approval_policy),
        sandbox_policy=core_policy(params.sandbox_policy, cwd),
        model=params.model,
        summary=params.summary,
        effort=params.effort,
    )
