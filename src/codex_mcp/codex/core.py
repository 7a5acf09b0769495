"""Pure. The interface of a core: the settings of threads and turns, the listener, and the errors.

`codex.app_server` implements it with `codex app-server`, `codex.legacy.core` with an old `codex mcp-server`.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from msgspec import Raw, Struct, field

from codex_mcp.base.errors import Explained
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.codex.facts import Fact
from codex_mcp.codex.losses import Loss
from codex_mcp.wire.app.notifications import AppNotification
from codex_mcp.wire.app.questions import Asked
from codex_mcp.wire.app.requests import Account, ImageInput, LocalImageInput, ReviewTarget, TextInput, ThreadOpened
from codex_mcp.wire.jsonrpc import Id

Answer = TypeVar("Answer")

TurnInput: TypeAlias = TextInput | ImageInput | LocalImageInput

AFTER_LOSS: Final = "The thread is on disk: call codex-reply to go on, and a new Codex starts by itself."
"""What the user of a tool is told after a core has died."""

MAX_PROMPT_CHARS: Final = 1 << 20
"""Codex's own limit, in characters. Codex would refuse a longer prompt only after it has waited for its turn."""

PROMPT_TOO_LONG: Final = (
    "Input exceeds the maximum length of {} characters: the prompt has {}. "
    "Put the text into a file, and let the prompt name that file."
)

_ID: Final = r"(?:urn:uuid:|\{)?([\da-f]{8})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{12})\}?"


def plain_id(thread_id: str) -> str:
    """The canonical spelling of a thread id. Codex also accepts capitals, no hyphens, braces, and URNs.

    Two spellings of a thread would be two threads here, with two turns at once. Any other text is returned unchanged.
    """
    found = re.fullmatch(_ID, thread_id, re.ASCII | re.IGNORECASE)
    return thread_id if found is None else "-".join(found.groups()).lower()


def is_thread_id(text: str) -> bool:
    """Whether this is a thread's id, in any spelling."""
    return re.fullmatch(_ID, text, re.ASCII | re.IGNORECASE) is not None


class Fork(Struct, frozen=True):
    """The conversation that a new thread begins with."""

    thread_id: str
    before_turn: str | None = None
    """Without this turn and all later ones."""


class ThreadSpec(Struct, frozen=True):
    """The settings of a thread. None leaves a setting to Codex's own configuration."""

    cwd: str | None = None
    model: str | None = None
    approval_policy: str | None = None
    sandbox: str | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    """Dotted keys of config.toml and their values. Codex does not store them: they are sent again at every resume."""
    raw_events: bool = False
    """Also report the model's raw items."""
    environment: str | None = None
    """Where commands run, by its name in `CoreSettings.environments`, or `local`. None if there is only one place."""
    tools: tuple[Mapping[str, object], ...] = ()
    """Tools that we answer, as the app-server spells them. It stores them with the thread; an old Codex has none."""
    fork: Fork | None = None
    """Of which thread it is a copy when it starts; it then has the instructions and tools of that thread."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """Further rights of its commands, by path: `read`, `write` or `deny` (see `codex.config.sandbox_profile`)."""
    base: str | None = None
    """The commit from which its worktree began, if it has one: results say what was done since."""

    @property
    def is_remote(self) -> bool:
        """Whether its commands run on another machine, whose files cannot be looked at from here."""
        return is_elsewhere(self.environment)


PLAIN: Final = ThreadSpec()


class OpenedThread(Struct, frozen=True):
    thread_id: str
    cwd: str
    rollout_path: str | None = None
    answer: ThreadOpened | None = None
    """How the app-server has set the thread up; None if that could not be read, or from an old Codex."""
    raw: Raw | None = None
    """The same as it came, without turns."""
    paused_goal: str = ""
    """The goal that it had when it was loaded, which is paused."""
    loss: Loss | None = None
    """What its file had lost when it was loaded."""
    was_interrupted: bool = False
    """Its last turn was not completed: it was stopped, or Codex or its server ended while it ran."""
    is_provisional: bool = False
    """The id is ours. The core gives the thread its own with the first turn (`CoreListener.thread_named`)."""

    @property
    def model(self) -> str:
        """Empty if it is not known."""
        return "" if self.answer is None else self.answer.model


class TurnSettings(Struct, frozen=True):
    """Settings that change with a turn, and stay for the later turns of its thread. None keeps a setting."""

    cwd: str | None = None
    approval_policy: str | None = None
    sandbox_policy: Mapping[str, object] | None = None
    """As the app-server spells it."""
    model: str | None = None
    summary: str | None = None
    effort: str | None = None


class When(StrEnum):
    """When a prompt for a busy thread is read."""

    QUEUE = "queue"
    """After all that wait already."""
    STEER = "steer"
    """By the running turn."""
    INTERRUPT = "interrupt"
    """Next; the running turn is stopped."""


class WhenLimited(StrEnum):
    """What becomes of a prompt while the account has reached its usage limit."""

    FAIL = "fail"
    WAIT = "wait"
    """It begins when the limit has ended."""
    TRY = "try"
    """It begins, and shows whether the limit has ended."""


class GoalOrder(Struct, frozen=True):
    """What a caller wants the goal of a thread to be, once its prompt has begun."""

    objective: str | None = None
    """None keeps the one that it has."""
    token_budget: int | None = None
    status: str = "active"
    """active, paused or cleared"""


LONGEST_IMAGE: Final = 50 * 1024 * 1024
"""Bytes of an image file, which Codex reads as a whole and sends in base64. No model takes a longer one."""


class TurnSpec(Struct, frozen=True):
    prompt: str = ""
    images: tuple[str, ...] = ()
    """URLs (http, https, data) or absolute paths of image files."""
    output_schema: Mapping[str, object] | None = None
    """The JSON schema of the answer."""
    preface: str = ""
    """Text of the server that the model reads before the caller's prompt."""
    time_limit: float | None = None
    """Seconds."""
    runs_commands: bool = True
    """If false, the turn also runs while the exec-server cannot be reached."""
    parts: tuple[TurnInput, ...] = ()
    """The prompt and the images in the caller's order; empty: the prompt comes first."""
    settings: TurnSettings | None = None
    review: ReviewTarget | None = None
    """What to review. The turn is then a review, and has no prompt."""
    when: When = When.QUEUE
    rollback: int = 0
    """How many turns to drop from the conversation before it starts."""
    is_said: bool = False
    """The conversation contains the prompt already: the model is only asked to go on."""
    goal: GoalOrder | None = None
    when_limited: WhenLimited = WhenLimited.FAIL
    message_id: str = ""
    """Codex tells it with the prompt, also of a turn that it runs already."""

    @property
    def is_plain(self) -> bool:
        """It is no more than a prompt, which can join a turn that runs."""
        return not (self.review or self.rollback or self.output_schema or self.settings or self.goal)

    @property
    def input(self) -> list[TurnInput]:
        """What the model is told."""
        if self.is_said:
            return []
        images = (LocalImageInput(image) if image.startswith("/") else ImageInput(image) for image in self.images)
        preface = [TextInput(self.preface)] if self.preface else []
        return [*preface, *(self.parts or (TextInput(self.prompt), *images))]


class Core(Protocol):
    """A running Codex. Every call raises CoreError."""

    resumes: bool
    """Its threads can be loaded by the next core."""
    after_loss: str
    """A sentence for callers: what happens to its threads when it dies, and what to do."""

    def why_lost(self, thread_id: str) -> str:
        """Why this thread can never continue; empty if it can."""

    async def start_thread(self, spec: ThreadSpec) -> OpenedThread: ...

    async def resume_thread(self, thread_id: str, spec: ThreadSpec) -> OpenedThread: ...

    async def start_turn(self, thread_id: str, spec: TurnSpec, thread: ThreadSpec = PLAIN) -> str:
        """Start a turn of a thread that was opened with `thread`; return its id."""

    async def interrupt_turn(self, thread_id: str, turn_id: str) -> None:
        """Stop a turn; the notification that ends every turn follows."""

    async def steer_turn(
        self,
        thread_id: str,
        expected_turn_id: str,
        input: Sequence[TurnInput],  # noqa: A002
        message_id: str = "",
    ) -> None:
        """Add input to a running turn: the model reads it with its next request of that turn. Raises NotSteerable.

        The fact `PromptHeard` with this `message_id` follows when the core has put it into the conversation. Without
        that fact, the core drops the input at the end of the turn.
        """

    async def tell_model(self, thread_id: str, item: Mapping[str, object]) -> None:
        """Add an item to the conversation; the model reads it with its next request."""

    async def running_commands(self, thread_id: str) -> dict[str, str]:
        """Process ids of a thread's running commands, by item id."""

    async def terminate_command(self, thread_id: str, process_id: str) -> None:
        """Kill a command that an interrupt left running."""

    async def unload_thread(self, thread_id: str) -> None: ...

    async def account(self) -> Account: ...

    async def request(
        self, method: str, params: object, answer_type: type[Answer], timeout: float | None = None
    ) -> Answer:
        """Send a request of the app-server's protocol that has no method here. An old Codex refuses it.

        A request with a `timeout` may take longer than others, and does not count among those in flight.
        """


class Event(Struct, frozen=True):
    """One `codex/event`, without its envelope."""

    turn_id: str
    """The id of its turn; "" outside of a turn."""
    msg: dict[str, object]
    """{"type": …, …}"""


Told: TypeAlias = AppNotification | Event
"""A notification of the app-server, or an event of an old Codex."""


class CoreListener(Protocol):
    """Receives a core's messages."""

    def notification_received(self, thread_id: str, told: Told | None, fact: Fact | None) -> None:
        """Something happened: what clients are shown of it, and what it means for a turn.

        An empty thread id means the core as a whole.
        """

    def question_received(self, question_id: Id, asked: Asked) -> Coroutine[Any, Any, object]:
        """The coroutine returns the answer."""

    def turn_unreadable(self, thread_id: str, why: str, *, is_question: bool) -> None:
        """A message that the running turn needs in full was too long. Its outline follows."""

    def thread_named(self, provisional_id: str, thread_id: str) -> None:
        """A thread with a provisional id got its own, which all later calls use."""


class CoreError(Explained):
    """The core refused, or there is none. The text is a sentence for the caller."""


class CoreLost(CoreError):
    """The core died, or was stopped, before it answered."""


class AnswerUnreadable(CoreError):
    """The core's answer is too long to be read."""


class NotSteerable(CoreError):
    """The turn has ended, or takes no input while it runs, or the core cannot steer. Nothing was added."""


class CannotSteer(NotSteerable):
    """This core, an old Codex, takes no input while a turn runs."""


class ThreadNotFound(CoreError):
    """The thread is neither loaded nor on disk."""


class CannotResume(CoreError):
    """The thread cannot continue in this core, an old Codex. A new thread can replace it."""


class ThreadUnusable(CoreError):
    """The thread is archived, or its file is damaged."""


class ThreadDamaged(ThreadUnusable):
    """Codex cannot read the thread's file."""


class ThreadHeld(CoreError):
    """The Codex of another server has the thread open."""


class BadThreadId(CoreError):
    """The text is not a thread id."""


class ConfigRefused(CoreError):
    """Codex cannot use this configuration."""
