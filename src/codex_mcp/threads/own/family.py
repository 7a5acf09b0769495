"""Which of our threads a thread belongs to that Codex has opened itself, for a sub-agent.

Codex announces no such thread. Its first turn names the turn of ours that led to it, however deep sub-agents start
others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import Told
from codex_mcp.codex.facts import Fact, ThreadUnloaded, TurnStarted
from codex_mcp.wire.app.notifications import ThreadStarted

TURNS_KEPT: Final = 10_000
"""Turns that led to sub-agents. A sub-agent that an older one leads to is stopped."""


class OwnThread(Protocol):
    """A thread of ours."""

    id: str

    def had_turn(self, turn_id: str) -> bool: ...


class Family:
    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        """The thread of ours, or a sub-agent of it, by the thread that Codex has opened."""
        self._led: dict[str, str] = {}
        """The thread of ours by its turn that led to sub-agents: these may start others long after that turn."""

    def told(self, thread_id: str, threads: Iterable[OwnThread], told: Told | None, fact: Fact | None) -> None:
        """Learn from a notification of a thread whose it is."""
        if isinstance(told, ThreadStarted) and told.thread.parent_thread_id is not None:
            self._parents[told.thread.id] = told.thread.parent_thread_id
        elif isinstance(fact, ThreadUnloaded):
            self._parents.pop(thread_id, None)
        elif isinstance(fact, TurnStarted) and fact.root_turn_id:
            root = next((thread.id for thread in threads if thread.had_turn(fact.root_turn_id)), None)
            root = root or self._led.get(fact.root_turn_id)
            if root is not None and root != thread_id:
                self._parents[thread_id] = self._led[fact.root_turn_id] = root
                if len(self._led) > TURNS_KEPT:
                    del self._led[next(iter(self._led))]

    def ancestor(self, thread_id: str, is_open: Iterable[str]) -> str:
        """The nearest ancestor that is open; the last one that is known, if none is."""
        seen = {thread_id}
        while (parent := self._parents.get(thread_id)) is not None and parent not in seen:
            seen.add(parent)
            thread_id = parent
            if thread_id in is_open:
                break
        return thread_id

    def own(self, thread_id: str) -> str:
        """This thread, if it is no sub-agent's. Raises Refused: a prompt would take it away from its agent."""
        if thread_id in self._parents:
            parent = self.ancestor(thread_id, ())
            raise Refused(f"thread {thread_id} is a sub-agent of thread {parent}; send the prompt to {parent}")
        return thread_id

    def clear(self) -> None:
        self._parents.clear()
        self._led.clear()
