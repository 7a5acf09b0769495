"""Pure. What other packages know of a core: how threads and turns are described to it, what it tells, how it fails.

There are two: `codex.app_server` drives `codex app-server`, `codex.legacy.core` an old `codex mcp-server`.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Mapping
from typing import Any, Final, Protocol

from msgspec import Struct, field

from codex_mcp.base.errors import Explained
from codex_mcp.codex.events.translator import Told
from codex_mcp.codex.facts import Fact
from codex_mcp.wire.app.questions import Asked
from codex_mcp.wire.app.requests import Account, ThreadOpened
from codex_mcp.wire.jsonrpc import Id

LOCAL_ENVIRONMENT: Final = "local"
EXEC_ENVIRONMENT: Final = "exec-server"
"""The places where commands may run, by Codex's name and by ours."""

_ID: Final = r"(?:urn:uuid:|\{)?([\da-f]{8})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{4})-?([\da-f]{12})\}?"


def plain_id(thread_id: str) -> str:
    """The one spelling of an id, which Codex also takes in capitals, without hyphens, in braces, or as a URN.

    Two spellings of a thread would be two threads here, with two turns at once. Anything else is returned unchanged.
    """
    found = re.fullmatch(_ID, thread_id, re.ASCII | re.IGNORECASE)
    return thread_id if found is None else "-".join(found.groups()).lower()


class ThreadSpec(Struct, frozen=True):
    """How a thread shall be set up. What is None is left to Codex's own configuration."""

    cwd: str | None = None
    model: str | None = None
    approval_policy: str | None = None
    sandbox: str | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    config: Mapping[str, object] = field(default_factory=dict)
    """Dotted keys of config.toml and their values. Codex does not store them: they are sent again at every resume."""
    raw_events: bool = False
    """Ask for the model's raw items as well."""
    environment: str | None = None
    """Where commands run: `LOCAL_ENVIRONMENT` or `EXEC_ENVIRONMENT`. None where there is only one place."""


PLAIN: Final = ThreadSpec()
"""A thread about which nothing was said."""


class OpenedThread(Struct, frozen=True):
    """A thread that the core has loaded."""

    thread_id: str
    cwd: str
    rollout_path: str | None = None
    answer: ThreadOpened | None = None
    """How the app-server has set the thread up; None if that could not be read, or from an old Codex."""
    is_provisional: bool = False
    """The id is ours. The core gives the thread its own with the first turn (`CoreListener.thread_named`)."""


class TurnSpec(Struct, frozen=True):
    """What the agent shall do next."""

    prompt: str
    images: tuple[str, ...] = ()
    """URLs (http, https, data) or absolute paths of image files."""
    output_schema: Mapping[str, object] | None = None
    """The answer shall be JSON of this schema."""
    preface: str = ""
    """What the model is told before the prompt, not in its caller's words."""
    time_limit: float | None = None
    """Seconds that it may run."""
    runs_commands: bool = True
    """It may need the place where its commands run. If not, it goes on without that place."""


class Core(Protocol):
    """A running Codex. Every call raises CoreError."""

    resumes: bool
    """Threads outlive it: the next one of its kind can load them."""
    after_loss: str
    """What becomes of its threads when it dies, and what to do: a sentence."""

    def why_lost(self, thread_id: str) -> str:
        """Why a thread that it has can never go on, if it cannot."""

    async def start_thread(self, spec: ThreadSpec) -> OpenedThread:
        """Begin a new thread."""

    async def resume_thread(self, thread_id: str, spec: ThreadSpec) -> OpenedThread:
        """Load a thread from disk."""

    async def start_turn(self, thread_id: str, spec: TurnSpec, thread: ThreadSpec = PLAIN) -> str:
        """Begin a turn of a thread that was set up so; return its id."""

    async def interrupt_turn(self, thread_id: str, turn_id: str) -> None:
        """Stop a turn; its end is announced by the notification that ends every turn."""

    async def tell_model(self, thread_id: str, item: Mapping[str, object]) -> None:
        """Put an item into the conversation; the model reads it with its next request."""

    async def running_commands(self, thread_id: str) -> dict[str, str]:
        """The commands that run in a thread: process ids by item id."""

    async def terminate_command(self, thread_id: str, process_id: str) -> None:
        """Kill a command that an interrupt left running."""

    async def unload_thread(self, thread_id: str) -> None:
        """Let go of a thread; it stays on disk."""

    async def account(self) -> Account:
        """Ask who is signed in."""


class CoreListener(Protocol):
    """Receives what a core says."""

    def notification_received(self, thread_id: str, told: Told | None, fact: Fact | None) -> None:
        """Something happened: what people are shown of it, and what it means for a turn.

        An empty thread id means the core as a whole.
        """

    def question_received(self, question_id: Id, asked: Asked) -> Coroutine[Any, Any, object]:
        """The core asks; the coroutine returns the answer."""

    def turn_unreadable(self, thread_id: str, why: str, *, is_question: bool) -> None:
        """What comes next was too long and has been shortened, and the running turn of the thread needs all of it."""

    def thread_named(self, provisional_id: str, thread_id: str) -> None:
        """A thread that had a provisional id has its own now. Everything that is told of it later goes by that."""


class CoreError(Explained):
    """The core refused, or there is none. The text is a sentence for the caller."""


class CoreLost(CoreError):
    """The core died, or was stopped, before it answered."""


class AnswerUnreadable(CoreError):
    """The core has answered, and the answer is too long to be read."""


class ThreadNotFound(CoreError):
    """No such thread, neither loaded nor on disk."""


class CannotResume(CoreError):
    """The thread cannot go on in this core, which is of an old release. A new one can be started in its place."""


class ThreadHeld(CoreError):
    """Another Codex, of another server, has it open."""


class BadThreadId(CoreError):
    """The text is not a thread id."""


class ConfigRefused(CoreError):
    """Codex cannot use this configuration."""
