"""Pure. What is news to a caller that waits for agents, when its wait is answered, and what was reported to it.

Five things are news: an answer, a question, a pause, a close, and what a person has typed. Each is reported once
to each caller.

    news not yet reported  something runs  mode     the wait
    ---------------------  --------------  -------  ------------------------------------
    a question             -               -        is answered
    other news             -               first    is answered
    other news             no              all      is answered
    other news             yes             all      goes on
    none                   yes             -        goes on
    none                   no              -        is idle: no news is to be expected
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

MAX_CALLERS: Final = 10_000
"""Callers that are remembered, as many as there may be sessions. The least recent one is forgotten first, and may be
told the same news again."""

MAX_KEYS: Final = 2_000
"""News remembered for each caller, the newest. A thread keeps 32 answers, so this is enough for sixty busy agents."""

MAX_REQUESTS: Final = 64
"""Answered requests of each caller that a late cancellation can still revoke."""


class NewsKind(StrEnum):
    ANSWER = "answer"
    QUESTION = "question"
    PAUSE = "pause"
    CLOSE = "close"
    PERSON = "person"
    """A person has given the agent a prompt, or stopped it, at a terminal."""


class News(Struct, frozen=True):
    kind: NewsKind
    key: str


class WaitMode(StrEnum):
    FIRST = "first"
    """At the first piece of news."""
    ALL = "all"
    """When everything has ended, or at a question."""


class WaitVerdict(StrEnum):
    REPORT = "report"
    WAIT = "wait"
    IDLE = "idle"


def verdict(unreported: Iterable[News], mode: WaitMode, *, runs: bool) -> WaitVerdict:
    """Whether a wait is answered now. `runs`: at least one of its turns has not ended."""
    kinds = {news.kind for news in unreported}
    if NewsKind.QUESTION in kinds or (kinds and (mode is WaitMode.FIRST or not runs)):
        return WaitVerdict.REPORT
    return WaitVerdict.WAIT if runs else WaitVerdict.IDLE


class _Caller:
    __slots__ = ("keys", "requests", "unread")

    def __init__(self) -> None:
        self.keys: OrderedDict[str, None] = OrderedDict()
        self.requests: OrderedDict[Hashable, tuple[str, ...]] = OrderedDict()
        self.unread: OrderedDict[Hashable, tuple[str, ...]] = OrderedDict()
        """What the answers to requests tell that did not reach the caller, which may still read them."""


class Reported:
    """The news that each caller was told. Beyond a limit the oldest is forgotten; it may be repeated, never lost."""

    def __init__(
        self, max_callers: int = MAX_CALLERS, max_keys: int = MAX_KEYS, max_requests: int = MAX_REQUESTS
    ) -> None:
        self._max_callers = max_callers
        self._max_keys = max_keys
        self._max_requests = max_requests
        self._callers: OrderedDict[str, _Caller] = OrderedDict()

    def has(self, caller: str, key: str) -> bool:
        known = self._callers.get(caller)
        return known is not None and key in known.keys

    def add(self, caller: str, request: Hashable, keys: Iterable[str], *, is_read: bool = True) -> None:
        """The answer to this request tells the caller these news, if it is read."""
        told = tuple(keys)
        if not told:
            return
        known = self._callers.setdefault(caller, _Caller())
        self._callers.move_to_end(caller)
        requests = known.requests if is_read else known.unread
        requests[request] = (*requests.pop(request, ()), *told)
        _trim(requests, self._max_requests)
        if is_read:
            for key in told:
                known.keys[key] = None
                known.keys.move_to_end(key)
            _trim(known.keys, self._max_keys)
        _trim(self._callers, self._max_callers)

    def revoke(self, caller: str, request: Hashable) -> bool:
        """The answer to this request did not reach the caller. True if it contained something that is news again."""
        known = self._callers.get(caller)
        if known is None:
            return False
        keys = known.requests.pop(request, ())
        for key in keys:
            known.keys.pop(key, None)
        self.add(caller, request, keys, is_read=False)
        return bool(keys)

    def restore(self, caller: str, request: Hashable) -> None:
        """The caller reads the answer to this request after all."""
        known = self._callers.get(caller)
        if known is not None:
            self.add(caller, request, known.unread.pop(request, ()))

    def forget(self, caller: str, keys: Iterable[str]) -> None:
        """These are news to the caller again."""
        known = self._callers.get(caller)
        if known is not None:
            for key in keys:
                known.keys.pop(key, None)


def _trim(entries: OrderedDict[Any, Any], most: int) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
