"""What one core says, as it says it: for a Codex TUI that is attached to one of its threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Raw

from codex_mcp.wire.app.questions import ToolCallRequest
from codex_mcp.wire.jsonrpc import NO_PARAMS, Id, Notification, Request

MOST_ASKED: Final = 256
LONGEST_ASKED: Final = 64 * 1024
"""The newest requests for a decision are kept, and their bytes; beyond that, a TUI that comes later is not asked."""


MOST_COUNTED: Final = 1024
"""Threads whose tokens are kept, the last that were counted."""

TOKENS: Final = "thread/tokenUsage/updated"


class Tap(Protocol):
    """Must not raise, and must not wait."""

    def notified(self, message: Notification) -> None:
        """A notification about the thread."""

    def core_gone(self) -> None:
        """The core has ended, and says nothing more."""


class Taps:
    def __init__(self) -> None:
        self.greeting = NO_PARAMS
        """The core's answer to `initialize`."""
        self._asked: OrderedDict[Id, Request] = OrderedDict()
        self.of: dict[str, list[Tap]] = {}
        self._tokens: OrderedDict[str, Notification] = OrderedDict()

    def greeted(self, answer: Raw) -> None:
        self.greeting = answer

    def add(self, thread_id: str, tap: Tap) -> Callable[[], None]:
        """Tell this one what the core says about the thread, until the returned function is called."""
        self.of[thread_id] = [*self.of.get(thread_id, ()), tap]

        def remove() -> None:
            left = [each for each in self.of.pop(thread_id, ()) if each is not tap]
            if left:
                self.of[thread_id] = left

        return remove

    def notified(self, thread_id: str, message: Notification) -> None:
        if message.method == TOKENS:
            self._tokens[thread_id] = message
            self._tokens.move_to_end(thread_id)
            if len(self._tokens) > MOST_COUNTED:
                self._tokens.popitem(last=False)
        for tap in self.of.get(thread_id, ()):
            tap.notified(message)

    def tokens(self, thread_id: str) -> Notification | None:
        """What the core has said last of the tokens of this thread."""
        return self._tokens.get(thread_id)

    def asked(self, request: Request) -> None:
        """Calls of our own tools are nobody else's."""
        if request.method == ToolCallRequest.method or len(bytes(request.params)) > LONGEST_ASKED:
            return
        self._asked[request.id] = request
        if len(self._asked) > MOST_ASKED:
            self._asked.popitem(last=False)

    def find_asked(self, request_id: Id | None) -> Request | None:
        """What the core has asked under this id."""
        return None if request_id is None else self._asked.get(request_id)

    def gone(self) -> None:
        self._asked.clear()
        taps = [tap for taps in self.of.values() for tap in taps]
        self.of.clear()
        for tap in taps:
            tap.core_gone()
