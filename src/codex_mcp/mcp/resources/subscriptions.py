"""Tells a client that a resource has changed, while turns of its thread run: soon, but only a few times per second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from codex_mcp.base.errors import Refused
from codex_mcp.codex.events.translator import Event
from codex_mcp.mcp.resources.uris import Address, View
from codex_mcp.threads.observers import Observers

MAX_SUBSCRIPTIONS: Final = 100
"""Of one session, or of one `subscriptions/listen`. More is a client that subscribes to a list without looking."""

PAUSE: Final = 0.5
"""Seconds between two notifications about one resource."""

DELAY: Final = 0.1
"""Seconds from an event to its notification: Codex writes what happened into its files a moment later."""

QUIET: Final = ("token_count",)
"""Events after which all resources are as before. So are deltas: an item is stored when it is complete."""

CHANGES_FILES: Final = ("patch_apply_end", "turn_diff", "task_complete", "turn_aborted")
"""Events after which a diff may be another one."""

SAYS_SOMETHING: Final = ("agent_message", "task_complete", "turn_aborted")
"""Events after which the last answer may be another one."""

Tell: TypeAlias = Callable[[str], None]
"""Called with the address of a changed resource."""


def concerns(view: View, kind: str) -> bool:
    """Whether an event of this type may change this view of its thread."""
    if view in (View.DIFF, View.ANSWER):
        return kind in (CHANGES_FILES if view is View.DIFF else SAYS_SOMETHING)
    return kind not in QUIET and not kind.endswith("_delta")


def wait(now: float, told_at: float | None) -> float:
    """Seconds until the client may be told of an event that happened now."""
    return DELAY if told_at is None else max(DELAY, told_at + PAUSE - now)


class Subscription:
    """A resource, and the time at which its client is told of a change."""

    def __init__(self, uri: str, address: Address, tell: Tell) -> None:
        """`uri`: the address as the client wrote it."""
        self.thread_id = address.thread_id
        self._uri = uri
        self._view = address.view
        self._tell = tell
        self._told_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def event_happened(self, thread_id: str, event: Event) -> None:
        if self._timer is None and concerns(self._view, str(event.msg.get("type"))):
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(wait(loop.time(), self._told_at), self._due)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._told_at = asyncio.get_running_loop().time()
        self._tell(self._uri)


class Subscriptions:
    """Those of one session, or of one `subscriptions/listen`."""

    def __init__(self, observers: Observers, tell: Tell) -> None:
        self._observers = observers
        self._tell = tell
        self._by_uri: dict[str, Subscription] = {}

    def __len__(self) -> int:
        return len(self._by_uri)

    def add(self, uri: str, address: Address) -> None:
        """Raises Refused if there are too many."""
        if uri in self._by_uri:
            return
        if len(self) >= MAX_SUBSCRIPTIONS:
            raise Refused(f"this client has {MAX_SUBSCRIPTIONS} subscriptions already; unsubscribe from some first")
        subscription = self._by_uri[uri] = Subscription(uri, address, self._tell)
        self._observers.add(subscription.thread_id, subscription.event_happened)

    def remove(self, uri: str) -> None:
        """An address without a subscription is ignored."""
        subscription = self._by_uri.pop(uri, None)
        if subscription is not None:
            self._observers.remove(subscription.thread_id, subscription.event_happened)
            subscription.stop()

    def stop(self) -> None:
        for uri in list(self._by_uri):
            self.remove(uri)
