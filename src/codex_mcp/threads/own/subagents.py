"""Pure. The sub-agents of a thread: their names, what they do, and the tokens that they have used."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.printable import foreign
from codex_mcp.codex.facts import Fact, Tokens, TokensCounted, TurnEnded, TurnStarted
from codex_mcp.threads.token_meter import NONE, TokenMeter, difference

BUSY: Final = "busy"
IDLE: Final = "idle"

KEPT: Final = 64
"""Sub-agents that are listed. Beyond that, the oldest that does nothing is forgotten; its tokens stay counted."""

NAME_CHARS: Final = 60
"""The model chooses the name, and people read it."""


class Subagent(Struct, frozen=True, rename="camel"):
    thread_id: str
    name: str
    state: str = IDLE
    tokens: int = 0


class Subagents:
    def __init__(self) -> None:
        self._known: dict[str, Subagent] = {}
        self._meters: dict[str, TokenMeter] = {}
        self._hidden: dict[str, Tokens] = {}
        """What threads have used in which Codex reviews approvals."""

    def listed(self) -> list[Subagent]:
        return list(self._known.values())

    @property
    def busy(self) -> list[str]:
        """Their names."""
        return [each.name for each in self._known.values() if each.state == BUSY]

    def has(self, thread_id: str) -> bool:
        return thread_id in self._known

    def name(self, thread_id: str) -> str:
        return self._known[thread_id].name if thread_id in self._known else ""

    def named(self, thread_id: str, name: str) -> None:
        if name and thread_id in self._known:
            self._known[thread_id] = replace(self._known[thread_id], name=foreign(name, NAME_CHARS))

    def fact_received(self, thread_id: str, fact: Fact | None) -> Tokens | None:
        """Note what happened in the thread of a sub-agent. Return the tokens that it has used since the last time."""
        known = self._known.setdefault(thread_id, Subagent(thread_id, thread_id[-8:]))
        used = None
        match fact:
            case TurnStarted():
                known = replace(known, state=BUSY)
            case TurnEnded():
                known = replace(known, state=IDLE)
            case TokensCounted():
                used = self._meters.setdefault(thread_id, TokenMeter()).used(fact)
                known = replace(known, tokens=known.tokens + used.total_tokens)
        self._known[thread_id] = known
        self._forget_oldest(thread_id)
        return used

    def hidden_used(self, thread_id: str, total: Tokens) -> Tokens:
        """What a thread that Codex hides has used since the last time."""
        before = self._hidden.get(thread_id, NONE)
        if total.total_tokens > before.total_tokens:
            self._hidden[thread_id] = total
        return difference(total, before)

    def _forget_oldest(self, newest: str) -> None:
        if len(self._known) > KEPT:
            idle = [key for key, each in self._known.items() if each.state == IDLE and key != newest]
            for key in idle[:1]:
                del self._known[key]
                self._meters.pop(key, None)

    def all_ended(self) -> None:
        self._known = {key: replace(each, state=IDLE) for key, each in self._known.items()}
