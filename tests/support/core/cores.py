"""Cores for tests: the real Codex below our supervisor or threads, with a scripted model that the test holds."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from codex_mcp.base.logs import Subject
from codex_mcp.base.settings.groups import Settings
from codex_mcp.codex.core import Core, CoreLost, Event, Told
from codex_mcp.codex.facts import Fact
from codex_mcp.codex.launch import launcher
from codex_mcp.codex.supervisor import CoreLaunch, Launcher, Supervisor
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.threads.questions.board import Answer, Via
from codex_mcp.threads.questions.decisions import Approved, Decision
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.app.questions import Asked
from codex_mcp.wire.jsonrpc import Id
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR
from tests.support.settings import make_settings


async def no_pace() -> None:
    """The reader is never held back."""


class Changes:
    """Somebody waits until something holds; whoever changes it tells."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def tell(self) -> None:
        """Something has changed."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it holds."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await self._changed.wait()


class Listener:
    """Hears everything that a core says, and answers its questions."""

    def __init__(self) -> None:
        self.notifications: list[tuple[str, str]] = []
        self.questions: list[tuple[str, Id, str]] = []
        self.asked: list[Asked] = []
        self.named: list[tuple[str, str]] = []
        self.lost: list[CoreLost] = []
        self.unreadable: list[tuple[str, str]] = []
        self.changes = Changes()
        self.answer: Callable[[], Coroutine[Any, Any, object]] = self._nothing

    async def _nothing(self) -> object:
        return {}

    def notification_received(self, thread_id: str, told: Told | None, fact: Fact | None) -> None:
        """Remember it: the method of a notification, the name of a fact that comes without one."""
        method = "codex/event" if isinstance(told, Event) else type(fact).__name__ if told is None else told.method
        self.notifications.append((thread_id, method))
        self.changes.tell()

    def question_received(self, question_id: Id, asked: Asked) -> Coroutine[Any, Any, object]:
        """Remember it, and answer as the test says."""
        self.questions.append((asked.thread_id, question_id, asked.method))
        self.asked.append(asked)
        self.changes.tell()
        return self.answer()

    def turn_unreadable(self, thread_id: str, why: str, *, is_question: bool) -> None:
        """Remember it."""
        self.unreadable.append((thread_id, why))
        self.changes.tell()

    def thread_named(self, provisional_id: str, thread_id: str) -> None:
        """Remember it."""
        self.named.append((provisional_id, thread_id))
        self.changes.tell()

    def core_lost(self, core: Core, reason: CoreLost) -> None:
        """Remember it."""
        self.lost.append(reason)
        self.changes.tell()


class Watcher:
    """The audience of a turn: remembers what it sees, and decides as the test says."""

    label = "test"
    subject = Subject(request="test")

    def __init__(self, decide: Callable[[Question], Coroutine[Any, Any, Decision]] | None = None) -> None:
        self.events: list[Event] = []
        self.activities: list[str] = []
        self.questions: list[Question] = []
        self.changes = Changes()
        self._decide = decide

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Remember it."""
        self.events.append(event)
        self.changes.tell()

    def activity_changed(self, activity: str) -> None:
        """Remember it."""
        self.activities.append(activity)
        self.changes.tell()

    async def ask(self, question: Question, turn: Turn) -> Answer:
        """Decide."""
        self.questions.append(question)
        self.changes.tell()
        return Answer(Approved() if self._decide is None else await self._decide(question), "watcher", Via.ELICITATION)

    @property
    def kinds(self) -> list[str]:
        """The types of the events, in order."""
        return [str(event.msg["type"]) for event in self.events]

    async def saw(self, kind: str) -> None:
        """Wait for an event of this type."""
        await self.changes.until(lambda: kind in self.kinds)

    async def saw_activity(self, beginning: str) -> None:
        """Wait for an activity that begins like this."""
        await self.changes.until(lambda: any(activity.startswith(beginning) for activity in self.activities))


def settings_below(folder: Path, **changed: object) -> Settings:
    """Settings whose home is below this folder."""
    home = folder / "home" / ".codex"
    home.mkdir(parents=True, exist_ok=True)
    return make_settings(codex_home=str(home), **changed)


def environment_below(folder: Path) -> dict[str, str]:
    """Nothing of ours but PATH."""
    (folder / "tmp").mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}


def program(script: str) -> Launcher:
    """In place of Codex: a shell script."""

    async def launch() -> CoreLaunch:
        return CoreLaunch(argv=["sh", "-c", script], environment={"PATH": os.environ["PATH"]})

    return launch


@contextlib.asynccontextmanager
async def supervised(
    launch: Launcher, settings: Settings, listener: Listener | None = None
) -> AsyncIterator[Supervisor]:
    """A supervisor, stopped in the end."""
    supervisor = Supervisor(settings.core, listener or Listener(), launch, no_pace)
    try:
        yield supervisor
    finally:
        async with asyncio.timeout(PATIENCE):
            await supervisor.stop()


@contextlib.asynccontextmanager
async def scripted_threads(
    folder: Path, *, script: Path = TOUR, **changed: object
) -> AsyncIterator[tuple[Threads, ScriptedModel]]:
    """Threads on the real Codex, and its model."""
    async with ScriptedModel(load_script(script)) as model:
        settings = settings_below(folder, overrides=tuple(model.codex_overrides()), **changed)
        threads = Threads(settings.core, settings.calls, launcher(settings.core, environment_below(folder)), no_pace)
        try:
            yield threads, model
        finally:
            async with asyncio.timeout(PATIENCE):
                await threads.aclose()
