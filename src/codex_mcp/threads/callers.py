"""Which threads each caller started or continued, for the lists that clients are shown.

A caller is a session, or a stateless client across its requests; its name contains its principal.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeAlias

THREADS_LISTED: Final = 256
"""Threads of one caller. Beyond that, the thread unused for longest leaves the list; it can still be read by its id."""

CALLERS_KEPT: Final = 10_000
"""Callers with a list. Beyond that, the list of the caller that was silent for longest is forgotten."""

Watcher: TypeAlias = Callable[[], None]
"""Called when a caller's list has changed. It must not raise."""


class Callers:
    def __init__(self) -> None:
        self._threads: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()
        self._watchers: dict[str, list[Watcher]] = {}
        self._left: OrderedDict[str, str] = OrderedDict()

    def left(self, caller: str, client: str) -> None:
        """This caller's session has ended or lost its connections; others of its client may collect its answers."""
        self._left[caller] = client
        if len(self._left) > CALLERS_KEPT:
            self._left.popitem(last=False)

    def came(self, caller: str) -> None:
        """This caller is there, perhaps again."""
        self._left.pop(caller, None)

    def left_by(self, client: str | None) -> frozenset[str]:
        """The callers of such sessions of this client; None: of any client."""
        return frozenset(caller for caller, each in self._left.items() if client in (None, each))

    def note(self, caller: str, thread_id: str) -> None:
        """The caller has started or continued this thread."""
        threads = self._threads.setdefault(caller, OrderedDict())
        self._threads.move_to_end(caller)
        is_new = thread_id not in threads
        threads[thread_id] = None
        threads.move_to_end(thread_id)
        if len(threads) > THREADS_LISTED:
            threads.popitem(last=False)
        if len(self._threads) > CALLERS_KEPT:
            self._threads.popitem(last=False)
        if is_new:
            self._tell(caller)

    def has(self, caller: str, thread_id: str) -> bool:
        """Whether the thread is on the caller's list."""
        return thread_id in self._threads.get(caller, ())

    def forget(self, thread_id: str) -> None:
        """The thread is gone: take it from all lists."""
        for caller, threads in self._threads.items():
            if thread_id in threads:
                del threads[thread_id]
                self._tell(caller)

    def threads(self, caller: str) -> tuple[str, ...]:
        """The ids of the caller's threads, the one used last at the end."""
        return tuple(self._threads.get(caller, ()))

    def _tell(self, caller: str) -> None:
        for watcher in tuple(self._watchers.get(caller, ())):
            watcher()

    def watch(self, caller: str, watcher: Watcher) -> None:
        self._watchers.setdefault(caller, []).append(watcher)

    def unwatch(self, caller: str, watcher: Watcher) -> None:
        """Stop telling this watcher. One that is not there is ignored."""
        watchers = self._watchers.get(caller, [])
        if watcher in watchers:
            watchers.remove(watcher)
        if not watchers:
            self._watchers.pop(caller, None)
