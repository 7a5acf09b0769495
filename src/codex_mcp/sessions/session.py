"""Pure. What a named session is: valid ids, what is kept of its turns, and when it is forgotten.

A session is forgotten if it is unused for `ttl` seconds, or if its principal has used `limit` others since. One that is
busy, which means that a turn of it runs in this server or in another, is never forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.codex.core import ThreadSpec

LONGEST_ID: Final = 256

TURNS_KEPT: Final = 2
"""How many turns are remembered for the fallback. A thread has its whole history itself, as long as it exists."""

CODE_CHARS: Final = 200
ANSWER_CHARS: Final = 100
PROMPT_CHARS: Final = 1000
"""How much of a remembered turn the fallback repeats."""

EFFORT: Final = "model_reasoning_effort"


class Key(Struct, frozen=True):
    """What one principal calls a session does not exist for another."""

    principal: str
    id: str


class Resumed(StrEnum):
    """How a call came by its thread."""

    NEW = "new"
    NATIVE = "native"
    FALLBACK = "fallback"
    RESET = "reset"


class PastTurn(Struct, frozen=True):
    """What is kept of a turn: the beginnings of its prompt and its answer."""

    prompt: str
    answer: str
    is_code: bool = False


class NamedSession(Struct, frozen=True, kw_only=True):
    id: str
    created: float
    """Seconds since 1970, as is `used`."""
    used: float
    turns: int = 0
    thread: str = ""
    model: str = ""
    """Empty if Codex did not say which one it uses."""
    spec: ThreadSpec = ThreadSpec()
    """The settings of its thread, with the model and the effort that were asked for last."""
    recent: tuple[PastTurn, ...] = ()
    """Its last turns, oldest first."""


class SessionLimits(Struct, frozen=True):
    ttl: float
    """Seconds; 0 means no limit."""
    most: int
    """Sessions of one principal."""


class Used(Struct, frozen=True):
    id: str
    used: float


def fault_of(session_id: str) -> str:
    """Why this cannot be the id of a session; empty if it can."""
    if len(session_id) > LONGEST_ID:
        return f"Session ID must be {LONGEST_ID} characters or fewer"
    if re.fullmatch(r"[A-Za-z0-9_-]+", session_id) is None:
        return "Session ID can only contain letters, numbers, hyphens, and underscores, and must not be empty"
    return ""


def is_expired(used: float, now: float, ttl: float) -> bool:
    return bool(ttl) and now - used >= ttl


def forgotten(sessions: Sequence[Used], now: float, limits: SessionLimits, is_busy: Callable[[str], bool]) -> list[str]:
    """The ids of a principal's sessions to forget now. `sessions` has the most recently used first."""
    kept: list[str] = []
    gone: list[str] = []
    for session in sessions:
        expired = is_expired(session.used, now, limits.ttl) and not is_busy(session.id)
        (gone if expired else kept).append(session.id)
    excess = len(kept) - limits.most
    for session_id in reversed(kept):
        if excess <= 0:
            break
        if not is_busy(session_id):
            gone.append(session_id)
            excess -= 1
    return gone


def after_turn(session: NamedSession, prompt: str, answer: str) -> NamedSession:
    """The session after a turn that succeeded."""
    is_code = "function" in answer or "def " in answer
    turn = PastTurn(prompt[:PROMPT_CHARS], answer[: CODE_CHARS if is_code else ANSWER_CHARS], is_code)
    return replace(session, turns=session.turns + 1, recent=(*session.recent, turn)[-TURNS_KEPT:])


def fallback_prompt(recent: Sequence[PastTurn], prompt: str) -> str:
    """The prompt for a new thread that continues a session whose own thread is gone."""
    context = "\n".join(map(_in_words, recent))
    return f"{context}\n\nTask: {prompt}" if context else prompt


def _in_words(turn: PastTurn) -> str:
    if turn.is_code:
        return f"Previous code context: {turn.answer}..."
    return f"Context: {turn.prompt} -> {turn.answer}..."


def with_wishes(spec: ThreadSpec, model: str | None, effort: str | None) -> ThreadSpec:
    """The settings of a thread with the model and the effort of a call, if it names them."""
    config = {**spec.config, EFFORT: effort} if effort is not None else spec.config
    return replace(spec, model=model or spec.model, config=config)


def changed_settings(kept: ThreadSpec, asked: ThreadSpec, given: Sequence[str]) -> list[str]:
    """Which of the given settings differ from those that a thread has."""

    def value(spec: ThreadSpec, name: str) -> object:
        value = getattr(spec, name)
        return {key: each for key, each in value.items() if key != EFFORT} if name == "config" else value

    return [name.replace("_", "-") for name in given if value(kept, name) != value(asked, name)]


def effort_of(spec: ThreadSpec) -> str | None:
    effort = spec.config.get(EFFORT)
    return effort if isinstance(effort, str) else None
