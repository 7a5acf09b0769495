"""Tells a client that a resource has changed: soon, but only a few times per second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import Event
from codex_mcp.mcp.resources.uris import ResourceAddress, ThreadView
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


def concerns(view: ThreadView, kind: str) -> bool:
    """Whether an event of this type may change this view of its thread."""
    if view in (ThreadView.DIFF, ThreadView.ANSWER):
        return kind in (CHANGES_FILES if view is ThreadView.DIFF else SAYS_SOMETHING)
    return kind not in QUIET and not kind.endswith("_delta")


def wait(now: float, told_at: float | None, delay: float = DELAY) -> float:
    """Seconds until the client may be told of an event that happened now."""
    return delay if told_at is None else max(delay, told_at + PAUSE - now)


Stop: TypeAlias = Callable[[], None]

Source: TypeAlias = Callable[[Stop], Stop]
"""Calls its argument after each change of a resource, from now on; returns what ends that."""


def thread_source(observers: Observers, address: ResourceAddress) -> Source:
    """Changes of a view of a thread, while its turns run."""

    def follow(changed: Stop) -> Stop:
        def event_happened(_thread_id: str, event: Event) -> None:
            if concerns(address.view, str(event.msg.get("type"))):
                changed()

        observers.add(address.thread_id, event_happened)
        return lambda: observers.remove(address.thread_id, event_happened)

    return follow


class Subscription:
    """A resource, and the time at which its client is told of a change."""

    def __init__(self, uri: str, tell: Tell, delay: float) -> None:
        """`uri`: the address as the client wrote it."""
        self._uri = uri
        self._delay = delay
        self._tell = tell
        self._told_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False

    def changed(self) -> None:
        if self._timer is None and not self._is_over:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(wait(loop.time(), self._told_at, self._delay), self._due)

    def stop(self) -> None:
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._told_at = asyncio.get_running_loop().time()
        self._tell(self._uri)


class Subscriptions:
    """Those of one session, or of one `subscriptions/listen`."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._by_uri: dict[str, tuple[Subscription, Stop]] = {}

    def __len__(self) -> int:
        return len(self._by_uri)

    def __contains__(self, uri: str) -> bool:
        return uri in self._by_uri

    def add(self, uri: str, source: Source, delay: float = DELAY) -> None:
        """`delay`: seconds after a change until the resource can be read as it is then. Raises Refused if there are
        too many."""
        if uri in self:
            return
        if len(self) >= MAX_SUBSCRIPTIONS:
            raise Refused(f"this client has {MAX_SUBSCRIPTIONS} subscriptions already; unsubscribe from some first")
        subscription = Subscription(uri, self._tell, delay)
        self._by_uri[uri] = (subscription, source(subscription.changed))

    def remove(self, uri: str) -> None:
        """An address without a subscription is ignored."""
        found = self._by_uri.pop(uri, None)
        if found is not None:
            subscription, stop = found
            stop()
            subscription.stop()

    def stop(self) -> None:
        for uri in list(self._by_uri):
            self.remove(uri)
