"""Pure. What hooks of Claude Code are answered, so that a lead leaves no answer and no question behind.

hook              something is unfinished            it was told the same before, or nothing is
----------------  ---------------------------------  ------------------------------------------
Stop              goes on: the lead is told what     stops
UserPromptSubmit  the lead is told what, beside      nothing is said
                  the prompt of its user
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.printable import foreign
from codex_mcp.mcp.schema.results import ToolResult, written

STOP: Final = "Stop"
PROMPT: Final = "UserPromptSubmit"

MOST_LINES: Final = 20
LONGEST: Final = 160
"""Characters of what an agent does or asks."""

OPENING: Final = "Codex agents that you have started are not finished:"
AFTER_STOP: Final = (
    "Call codex_wait, and report what is left, before you stop. If the user wants agents to go on without you, or has "
    "to decide, say so and stop."
)
AFTER_PROMPT: Final = "codex_wait collects answers."


class HookKind(StrEnum):
    ANSWER = "answer"
    QUESTION = "question"
    RUNS = "runs"


class Unfinished(Struct, frozen=True):
    """An answer that was not collected, an open question, or an agent that works."""

    kind: HookKind
    key: str
    """It stays the same while this is unfinished."""
    agent: str
    text: str = ""
    """What it asks, or does."""

    @property
    def line(self) -> str:
        text = foreign(self.text, LONGEST)
        match self.kind:
            case HookKind.ANSWER:
                return f"- {self.agent} has answered: codex_wait collects it."
            case HookKind.QUESTION:
                return f"- {self.agent} asks, and waits (codex_approvals answers {self.key}): {text}"
            case HookKind.RUNS:
                return f"- {self.agent} still works{f' ({text})' if text else ''}."


def state_of(unfinished: Sequence[Unfinished]) -> frozenset[str]:
    """What makes it worth to be told again."""
    return frozenset(f"{each.kind} {each.key}" for each in unfinished)


def hook_answer(event: str, unfinished: Sequence[Unfinished], told: frozenset[str]) -> dict[str, object]:
    """`told` is what it was told last, after which it stopped or went on."""
    if event == STOP and unfinished and state_of(unfinished) != told:
        return {"decision": "block", "reason": _text(unfinished, AFTER_STOP)}
    waiting = [each for each in unfinished if each.kind is not HookKind.RUNS]
    if event == PROMPT and waiting:
        said = {"hookEventName": PROMPT, "additionalContext": _text(waiting, AFTER_PROMPT)}
        return {"hookSpecificOutput": said}
    return {}


def _text(unfinished: Sequence[Unfinished], end: str) -> str:
    lines = [each.line for each in unfinished[:MOST_LINES]]
    more = len(unfinished) - len(lines)
    return "\n".join([OPENING, *lines, *([f"- and {more} more"] if more else []), end])


def found_in(result: Raw) -> list[Unfinished]:
    """What another server has told of the same caller; nothing if it is older, and tells something else."""
    try:
        (text,) = msgspec.json.decode(result, type=_Told).content
        return msgspec.json.decode(text.text, type=list[Unfinished])
    except (msgspec.MsgspecError, ValueError):
        return []


class _Text(Struct, frozen=True):
    text: str = ""


class _Told(Struct, frozen=True):
    content: list[_Text] = []


def hook_result(answer: object) -> ToolResult:
    """The result of the tool: a hook's output is JSON in a text."""
    return written(msgspec.json.encode(answer).decode())
