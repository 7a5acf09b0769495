"""What happens in all threads of a server: counted, and told to the callers that wait for it.

Keys are thread ids, codex_ids and callers. A key has no entry unless a caller waits for it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

from codex_mcp.base.futures import Waiter, resolve
from codex_mcp.threads.limits.account import Account
from codex_mcp.threads.observers import TurnListener
from codex_mcp.threads.questions.board import Receipt
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Source

ANY_THREAD: Final = "*"


class Changes:
    def __init__(self) -> None:
        self._waiters: dict[str, list[Waiter]] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def watch(self, keys: Iterable[str], waiter: Waiter) -> None:
        """Resolve this future at the next change of one of these keys."""
        for key in keys:
            self._waiters.setdefault(key, []).append(waiter)

    def unwatch(self, keys: Iterable[str], waiter: Waiter) -> None:
        for key in keys:
            waiters = self._waiters.get(key, [])
            if waiter in waiters:
                waiters.remove(waiter)
            if not waiters:
                self._waiters.pop(key, None)

    def tell(self, *keys: str) -> None:
        for key in keys:
            for waiter in self._waiters.pop(key, ()):
                resolve(waiter, None)


class Counts:
    def __init__(self) -> None:
        self.turns: Counter[str] = Counter()
        self.decisions: Counter[str] = Counter()
        """Questions by decision; `withdrawn` counts those that Codex took back."""


class ChangeListener(TurnListener):
    """Counts what happens in threads, wakes the callers that wait for it, and passes it on to other listeners."""

    def __init__(self, changes: Changes, counts: Counts, account: Account) -> None:
        self._changes = changes
        self._counts = counts
        self._account = account
        self._listeners: list[TurnListener] = []

    def pass_on_to(self, listener: TurnListener) -> None:
        """Tell this one as well, after the earlier ones."""
        self._listeners.append(listener)

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        turn.record.set_price(self._account.price(turn.spec, thread.spec, thread.opened))
        for listener in self._listeners:
            listener.turn_submitted(thread, turn)
        self._changes.tell(thread.id)

    def why_not(self, thread: Thread, turn: Turn) -> str:
        for listener in self._listeners:
            if why := listener.why_not(thread, turn):
                return why
        if turn.record.has_begun:
            return ""
        if turn.place.source is Source.CODEX:
            return self._account.why_not(thread, time.time())
        if why := self._account.admit(thread, turn, time.time()):
            turn.record.refused_by_account()
        return why

    def why_no_more(self, thread: Thread, ahead: int) -> str:
        why = self._account.why_not(thread, time.time())
        for listener in self._listeners:
            why = why or listener.why_no_more(thread, ahead)
        return why

    def turn_begun_by_codex(self, thread: Thread) -> None:
        for listener in self._listeners:
            listener.turn_begun_by_codex(thread)

    def tokens_counted(self, thread: Thread) -> None:
        self._account.tokens_counted()
        for listener in self._listeners:
            listener.tokens_counted(thread)

    def tokens_used(self, thread: Thread, tokens: int) -> None:
        for listener in self._listeners:
            listener.tokens_used(thread, tokens)

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        if turn.joins is None:
            self._counts.turns[turn.outcome.status] += 1
            self._account.turn_ended(thread, turn)
        for listener in self._listeners:
            listener.turn_concluded(thread, turn)
        self._changes.tell(thread.id, ANY_THREAD)

    def turn_left(self, thread: Thread) -> None:
        for listener in self._listeners:
            listener.turn_left(thread)
        self._changes.tell(thread.id, ANY_THREAD)

    def question_decided(self, thread: Thread, turn: Turn, receipt: Receipt) -> None:
        self._counts.decisions[receipt.word] += 1
        for listener in self._listeners:
            listener.question_decided(thread, turn, receipt)
