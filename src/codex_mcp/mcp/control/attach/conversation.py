"""Tells a TUI what Codex says about the thread, from the moment it was given the conversation so far."""

from __future__ import annotations

import contextlib
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw

from codex_mcp.mcp.control.attach.told import (
    NOT_FOR_TUIS,
    Seen,
    Typed,
    begun_turn,
    patch_in,
    seen_in,
    still_to_tell,
    with_message_id,
)
from codex_mcp.wire.jsonrpc import Notification

MOST_EARLY: Final = 4096
"""Messages that are kept while the conversation is read; a TUI that would miss one is let go."""

MOST_TYPED: Final = 64
"""Prompts that Codex has not put into the conversation yet; an older one stays on the TUI's list of those."""

TURNS_KEPT: Final = 8
"""The newest, as Codex describes them."""


class Conversation:
    """`tell` sends a message to the TUI; `gone` lets it go, so that it asks for everything again."""

    def __init__(self, tell: Callable[[str, object], None], gone: Callable[[], None]) -> None:
        self._tell = tell
        self._gone = gone
        self._early: list[Notification] | None = None
        self._seen = Seen()
        self._is_told = False
        self._turns: OrderedDict[str, Raw] = OrderedDict()
        self._patches: set[str] = set()
        self._typed: deque[Typed] = deque(maxlen=MOST_TYPED)

    def notified(self, message: Notification) -> None:
        if message.method == "turn/started":
            self._note(message)
        if message.method in NOT_FOR_TUIS:
            return
        if self._early is not None:
            self._early.append(message)
            if len(self._early) > MOST_EARLY:
                self._gone()
        elif self._is_told:
            self._send(message)

    def core_gone(self) -> None:
        self._gone()

    def _note(self, message: Notification) -> None:
        with contextlib.suppress(msgspec.MsgspecError):
            turn_id, turn = begun_turn(message)
            self._turns[turn_id] = turn
            if len(self._turns) > TURNS_KEPT:
                self._turns.popitem(last=False)

    def _send(self, message: Notification) -> None:
        params: object = message.params
        if message.method == "item/started" and (patch := patch_in(message)):
            self._patches.add(patch)
        elif self._typed and message.method in ("item/started", "item/completed"):
            params, found = with_message_id(message.params, self._typed)
            if found is not None and message.method == "item/completed":
                self._typed.remove(found)
        self._tell(message.method, params)

    def was_typed(self, typed: Typed) -> None:
        """The TUI waits for this prompt in the conversation."""
        if typed.message_id:
            self._typed.append(typed)

    def begin(self) -> None:
        """The conversation is about to be read: from now on nothing is lost."""
        self._early = []

    def was_read(self, thread: Raw) -> None:
        """This is what the TUI is given; `go_on` follows once it has been sent."""
        self._seen = seen_in(thread)

    def go_on(self) -> None:
        early, self._early, self._is_told = self._early or [], None, True
        for message in still_to_tell(early, self._seen):
            self._send(message)

    @property
    def is_told(self) -> bool:
        """The TUI has the conversation, and is told how it goes on."""
        return self._is_told and self._early is None

    def has_patch(self, item_id: str) -> bool:
        """The TUI was told of this patch; if not, it is said to be told now."""
        had = item_id in self._patches or item_id in self._seen.items
        self._patches.add(item_id)
        return had

    def turn(self, turn_id: str) -> Raw | None:
        """As Codex has described it when it started."""
        return self._turns.get(turn_id)
