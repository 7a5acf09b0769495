"""Pure. What persons do to agents beside their callers, and how callers are told of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import one_line
from codex_mcp.base.timestamps import format_timestamp

MOST_KEPT: Final = 32
"""Of one agent, the newest."""

LONGEST_SHOWN: Final = 500
"""Characters of a prompt."""

MOST_WARNED: Final = 4
"""Of these acts, the answer of the turn that they change has the newest. `codex_wait` tells more of them."""

IN_A_TUI: Final = "in an attached Codex TUI"


class Did(StrEnum):
    PROMPTED = "prompted"
    STEERED = "steered"
    INTERRUPTED = "interrupted"


SENTENCES: Final = {
    Did.PROMPTED: "has given the agent a prompt",
    Did.STEERED: "has steered the agent",
    Did.INTERRUPTED: "has interrupted the agent",
}


class PersonAct(Struct, frozen=True):
    did: Did
    person: str
    text: str
    """What was typed; empty if nothing was."""
    at: float
    key: str
    """Of this act, among all."""

    @property
    def sentence(self) -> str:
        who = one_line(self.person) or "a person"
        text = one_line(self.text)
        shown = text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
        return f"{who} {SENTENCES[self.did]} {IN_A_TUI}{f': {shown}' if shown else '.'}"

    @property
    def told(self) -> dict[str, object]:
        return {"status": self.did, "by": self.person, "at": format_timestamp(self.at), "content": self.sentence}


def warned(warnings: Iterable[str], act: PersonAct) -> tuple[str, ...]:
    """The warnings of a turn that this act changes, with it."""
    kept = list(warnings)
    acts = [each for each in kept if IN_A_TUI in each]
    if len(acts) >= MOST_WARNED:
        kept.remove(acts[0])
    return (*kept, act.sentence)
