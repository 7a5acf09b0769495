"""What is kept of a member besides its record, each part with its own job."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.team import limits
from codex_mcp.team.limits import AgentUsage, Paused
from codex_mcp.threads.record import Outcome
from codex_mcp.threads.turn import Turn


class Notes(Struct, frozen=True):
    """What goes with one turn."""

    prefaces: tuple[str, ...] = ()
    """Told to the model before the prompt."""
    warnings: tuple[str, ...] = ()
    """Told to the caller."""


class NextTurn:
    """What goes with the agent's next turn."""

    def __init__(self) -> None:
        self.notes = Notes()

    def add_preface(self, text: str) -> None:
        self.notes = replace(self.notes, prefaces=(*self.notes.prefaces, text))

    def add_warning(self, text: str) -> None:
        self.notes = replace(self.notes, warnings=(*self.notes.warnings, text))

    def take(self) -> Notes:
        notes, self.notes = self.notes, Notes()
        return notes

    def give_back(self, notes: Notes) -> None:
        """The turn was refused: they go with the next one, before what has come since."""
        later = self.notes
        self.notes = Notes(notes.prefaces + later.prefaces, notes.warnings + later.warnings)


class Requested:
    """The turns of calls with a request id, and what the store does not have of them yet."""

    def __init__(self) -> None:
        self.turns: dict[str, Turn] = {}
        """Those of this server, by that id."""
        self.answers: dict[str, Outcome | None] = {}
        """Outcomes that the store does not have yet, by request id; None is to be deleted."""

    def begun(self, request_id: str, turn: Turn) -> None:
        self.turns[request_id] = turn

    def forget(self, request_id: str) -> None:
        self.turns.pop(request_id, None)
        self.answers[request_id] = None

    def ended(self, turn: Turn, outcome: Outcome) -> None:
        self.answers.update({key: outcome for key, requested in self.turns.items() if requested is turn})

    def answer_was_written(self, request_id: str) -> None:
        self.answers.pop(request_id, None)


class WrittenQuestions:
    """The open questions of an agent, as they are written for other servers."""

    def __init__(self) -> None:
        self.now: Mapping[str, bytes] = {}
        self.written: set[str] | None = None
        """The keys of those that the store has; None if an earlier server may have left some."""

    def replace(self, questions: Mapping[str, bytes]) -> None:
        self.now = dict(questions)

    def were_written(self, questions: Mapping[str, bytes]) -> None:
        self.written = set(questions)


class Spent:
    """What the agent has used of its limits."""

    def __init__(self, usage: AgentUsage) -> None:
        self.usage = usage
        self._counted: dict[str, float] = {}
        """When each unfinished turn was counted, by its name."""

    def count_turn(self, settings: TeamSettings, now: float, name: str = "") -> None:
        """A turn has begun, or one of this name is about to."""
        self.usage = limits.with_turn(settings, self.usage, now)
        if name:
            self._counted[name] = now

    def turn_ended(self, name: str, *, has_begun: bool) -> bool:
        """Return whether it was counted in vain: it was refused, or stopped while it waited."""
        counted = self._counted.pop(name, None)
        if counted is None or has_begun:
            return False
        self.usage = limits.without_turn(self.usage, counted)
        return True

    def count_tokens(self, tokens: int) -> None:
        self.usage = limits.with_tokens(self.usage, tokens)

    def recall_turns(self, settings: TeamSettings, begun: Iterable[float]) -> None:
        self.usage = limits.with_earlier_turns(settings, self.usage, begun)

    def pause(self, settings: TeamSettings, team_tokens: int) -> Paused | None:
        now = time.time()
        self.usage = limits.not_ahead(self.usage, now)
        return limits.check(settings, self.usage, team_tokens, now)

    def warnings(self, settings: TeamSettings, team_tokens: int) -> list[str]:
        now = time.time()
        self.usage = limits.not_ahead(self.usage, now)
        return limits.warnings(settings, self.usage, team_tokens, now)
