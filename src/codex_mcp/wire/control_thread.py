"""Pure. What the control socket tells of a thread: its turns and their steps, and what is known around them.

`control/steps` asks for it; whoever follows the thread with `items` is told what happens later.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class ListSteps(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks for the turns of a thread, and for the steps of one of them."""

    thread: str
    """Its id, or a name of its agent."""
    turn: str = ""
    """The newest one if empty."""
    before: int | None = None
    """Steps before this number; otherwise the last ones."""
    limit: int = 200
    whole: bool = False
    """With as much of their output as can be shown at all."""


class TurnRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    status: str
    """inProgress, completed, interrupted or failed."""
    asked: str = ""
    """The beginning of its prompt."""
    by: str = ""
    """caller, mail or codex, if it is known."""
    steps: int = 0
    started_at: float | None = None
    seconds: float | None = None
    error: str = ""


class FileStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of a patch."""

    path: str
    what: str = "update"
    """add, update or delete."""
    moved_to: str = ""
    added: int = 0
    removed: int = 0


class Look(Struct, frozen=True):
    """What a command reads, lists or searches for."""

    kind: str
    what: str


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a reader means by one item of a turn. Long texts are cut, and secrets masked."""

    id: str
    kind: str
    """user, says, thinks, ran, changed, tool, search, image, agent, review, shortened or other."""
    n: int = -1
    """Its place in the turn, from 0; -1 while it is not known."""
    ended: bool = True
    status: str = ""
    text: str = ""
    """The message, the command, the question, the path: what the step is about."""
    cut: int = 0
    """Characters of it that are left out."""
    output: str = ""
    """The last of what a command has put out, or what a tool has answered."""
    lines: int = 0
    """Of the whole output."""
    exit_code: int | None = None
    seconds: float | None = None
    looks: Sequence[Look] = ()
    """Of a command that only looks at files."""
    files: Sequence[FileStep] = ()
    tool: str = ""
    server: str = ""
    pictures: Sequence[str] = ()


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of a thread."""

    input: int = 0
    cached: int = 0
    output: int = 0
    total: int = 0
    context: int = 0
    """In the model's context after the newest request."""
    window: int | None = None


class PlanStep(Struct, frozen=True):
    step: str
    status: str
    """pending, inProgress or completed."""


class Plan(Struct, frozen=True):
    steps: Sequence[PlanStep] = ()


class Waiting(Struct, frozen=True):
    """A prompt that waits for its turn."""

    prompt: str
    by: str


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a review has found."""

    title: str
    body: str = ""
    file: str = ""
    first: int = 0
    last: int = 0
    priority: int | None = None


class ReviewTold(Struct, frozen=True, kw_only=True, omit_defaults=True):
    thread: str
    status: str
    content: str = ""
    findings: Sequence[Finding] = ()


class HelperRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sub-agent of Codex's own."""

    thread: str
    name: str
    state: str = ""
    tokens: int = 0


class Setup(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a thread is set up."""

    model: str = ""
    effort: str = ""
    sandbox: str = ""
    approval: str = ""
    environment: str = ""
    copy_of: str = ""
    """The thread that it began as a copy of."""
    limits: Sequence[str] = ()
    """Limits of the settings, each with its name: `5000000 tokens_per_thread`."""


class Steps(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A thread, and a part of one of its turns."""

    thread: str
    turns: Sequence[TurnRow] = ()
    """In order."""
    is_cut: bool = False
    """Earlier turns are left out."""
    turn: str = ""
    """The one whose items these are."""
    steps: Sequence[Step] = ()
    """Those that have ended, in order, and those that have not."""
    first: int = 0
    """The number of the first of them, if there are any."""
    total: int = 0
    """How many of the turn have ended."""
    setup: Setup = Setup()
    usage: Usage | None = None
    turn_usage: Usage | None = None
    plan: Plan = Plan()
    queue: Sequence[Waiting] = ()
    reviews: Sequence[ReviewTold] = ()
    """Of the agent's work, the newest last."""
    helpers: Sequence[HelperRow] = ()
    goal: str = ""


class TurnTold(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    status: str
    started_at: float | None = None
    seconds: float | None = None
    error: str = ""


class StepTold(Struct, frozen=True, kw_only=True, omit_defaults=True):
    turn: str
    step: Step


class TextTold(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Text that was added to an item: what a message says, what a command puts out."""

    turn: str
    id: str
    text: str
    skipped: int = 0
    """Characters that were left out before it."""
