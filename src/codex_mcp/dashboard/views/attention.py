"""Pure. Whether an agent needs a person, and why; the first line that fits counts.

fact                                              group   glyph
------------------------------------------------  ------  -------
it has an open question                           need    need
its last turn failed, and nobody has looked       need    failed
a limit pauses it, and something waits            need    need
mail is held back by the loop protection          need    need
busy, without a sign of life for 15 minutes       need    need
busy, or closing                                  work    work
idle, used within a day, and nobody has looked    ready   ready
idle, used within a day                           ready   seen
older, closed, interrupted, or without a server   off     off
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import age, counted, one_line
from codex_mcp.control.asked import Asked
from codex_mcp.dashboard.views.facts import AgentFacts
from codex_mcp.dashboard.views.wants import typed, want_of

NO_SIGN: Final = 900.0
"""Seconds without a sign of life after which a busy agent needs a look."""

QUIET: Final = 300.0
"""Seconds after which its row says that it is quiet."""

FRESH: Final = 86_400.0
"""Seconds for which a result is worth a look."""

JUST_ASKED: Final = 10.0
"""Seconds that a client has before its question counts here: no flicker for somebody who answers there."""

LONGEST: Final = 200


class Group(StrEnum):
    NEED = "need"
    WORK = "work"
    READY = "ready"
    OFF = "off"


class Glyph(StrEnum):
    NEED = "need"
    FAILED = "failed"
    WORK = "work"
    READY = "ready"
    SEEN = "seen"
    OFF = "off"


class Attention(Struct, frozen=True):
    group: Group
    glyph: Glyph
    sentence: str
    """What it does or needs; the agent is its subject."""
    about: str = ""
    """What the sentence is about, at its end."""
    is_code: bool = False
    icon: str = ""
    chip: str = ""


def counts(asked: Asked, now: float) -> bool:
    """Whether a question is a person's here already, and not only that of a client that is being asked."""
    question = asked.question
    return not question.asked_of or now - question.asked_at >= JUST_ASKED


def attention(agent: AgentFacts, asked: Asked | None, now: float, *, seen: bool = False) -> Attention:
    """`asked` is its first open question, `seen` whether the person has seen its last turn."""
    if asked is not None and counts(asked, now):
        want = want_of(asked.question)
        return Attention(Group.NEED, Glyph.NEED, want.short, want.about, want.is_code, want.icon)
    if agent.status == "active":
        found = _trouble(agent, now, seen=seen)
        if found is not None:
            return found
        return _working(agent, now) if agent.is_busy or agent.closing else _idle(agent, now, seen=seen)
    return Attention(Group.OFF, Glyph.OFF, _inactive(agent))


def _trouble(agent: AgentFacts, now: float, *, seen: bool) -> Attention | None:
    said = ""
    if agent.last_error and not agent.is_busy and not seen:
        return Attention(Group.NEED, Glyph.FAILED, "stopped:", _line(agent.last_error), icon="failed")
    if agent.paused and (agent.mail or agent.waiting):
        said = f"paused: {_line(agent.paused)}"
    elif agent.held_mail:
        said = f"{counted(agent.held_mail, 'message')} held back by the loop protection"
    elif agent.is_busy and agent.heard is not None and now - agent.heard >= NO_SIGN:
        said = f"no sign of life for {age(now - agent.heard)}"
    return Attention(Group.NEED, Glyph.NEED, said, icon="warn") if said else None


def _working(agent: AgentFacts, now: float) -> Attention:
    if agent.closing:
        return Attention(Group.WORK, Glyph.WORK, "sums up its work", icon="think")
    quiet = 0.0 if agent.heard is None else now - agent.heard
    chip = f"quiet {age(quiet)}" if quiet >= QUIET else ""
    if not chip and agent.waiting:
        chip = f"{counted(agent.waiting, 'prompt')} waiting"
    doing = agent.doing or "works"
    if doing.startswith("running "):
        return Attention(
            Group.WORK,
            Glyph.WORK,
            "",
            _line(typed(doing.removeprefix("running "))),
            is_code=True,
            icon="run",
            chip=chip,
        )
    return Attention(Group.WORK, Glyph.WORK, _line(doing), icon="think", chip=chip)


def _idle(agent: AgentFacts, now: float, *, seen: bool) -> Attention:
    said = _line(agent.said.strip().partition("\n")[0]) or "has done nothing yet"
    if agent.last_error:
        said = f"stopped: {_line(agent.last_error)}"
    chip = "paused" if agent.paused else ""
    if now - agent.used_at < FRESH:
        return Attention(Group.READY, Glyph.SEEN if seen else Glyph.READY, said, icon="say", chip=chip)
    return Attention(Group.OFF, Glyph.OFF, said, icon="say", chip=chip)


def _inactive(agent: AgentFacts) -> str:
    match agent.status:
        case "closed":
            return "closed"
        case "interrupted":
            return "closed without a summary"
        case _:
            return "its server ended; the next prompt resumes it"


def _line(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
