"""Which core has a thread loaded, and what it must be told before that core loads or unloads it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final, TypeAlias, TypeVar

from msgspec.structs import replace

from codex_mcp.codex.core import (
    AFTER_LOSS,
    CannotResume,
    Core,
    CoreError,
    CoreLost,
    OpenedThread,
    ThreadSpec,
    Told,
    TurnSpec,
)
from codex_mcp.codex.facts import Fact
from codex_mcp.threads.stopping.stopper import Cores

T = TypeVar("T")

UNLOADED: Final = "Codex has unloaded the thread in the middle of a turn; call codex-reply to continue it"

CORE_LOST: Final = "Since the last turn, Codex has ended: {} The thread goes on in a new Codex."

INTERRUPTED: Final = (
    "The turn before this one was interrupted, before this server had the conversation. It gave no answer; what it had "
    "done until then stands."
)

GOAL_PAUSED: Final = (
    'The agent has a goal from before, which is paused: "{}". It does not go on by itself; '
    "codex-reply with `goal-status: active` lets it go on."
)


EARLY_NOTIFICATIONS: Final = 256
"""Kept for a thread: MCP servers starting, a warning or two."""


Answering: TypeAlias = Coroutine[Any, Any, object]


async def _later(joined: asyncio.Event, ask: Callable[[], Answering]) -> object:
    await joined.wait()
    return await ask()


class Early:
    """Notifications about threads whose opening has not been answered yet."""

    def __init__(self) -> None:
        self.opens = 0
        """How many threads are being opened."""
        self._kept: dict[str, list[tuple[Told | None, Fact | None]]] = {}
        self.joining: dict[str, asyncio.Event] = {}
        """Threads that are opened with what an earlier server has left in them. What begins in them is meant."""

    def __len__(self) -> int:
        return len(self._kept)

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """A thread, whose id may not be known yet, is being opened."""
        self.opens += 1
        try:
            yield
        finally:
            self.opens -= 1
            if self.opens == 0:
                self._kept.clear()

    def keep(self, thread_id: str, told: Told | None, fact: Fact | None) -> None:
        """Keep what may be about a thread that is being opened."""
        kept = self._kept.setdefault(thread_id, []) if self.opens else []
        if len(kept) < EARLY_NOTIFICATIONS:
            kept.append((told, fact))

    @contextlib.contextmanager
    def rejoining(self, thread_id: str) -> Iterator[None]:
        """This thread is being opened. What it asks meanwhile waits."""
        joined = self.joining[thread_id] = asyncio.Event()
        try:
            with self.opening():
                yield
        finally:
            del self.joining[thread_id]
            joined.set()

    def asked(self, thread_id: str, ask: Callable[[], Answering]) -> Answering | None:
        """What a thread asks, once it is open; None if it is not about to be."""
        joined = self.joining.get(thread_id)
        return None if joined is None else _later(joined, ask)

    def taken(self, thread_id: str) -> list[tuple[Told | None, Fact | None]]:
        """What has come about this thread, which is open now."""
        return self._kept.pop(thread_id, [])


SPECS_KEPT: Final = 1000
"""Settings kept of unloaded threads; an older thread is resumed with the settings in config.toml."""


class KeptSpecs(OrderedDict[str, ThreadSpec]):
    """The newest, by the thread."""

    def keep(self, thread_id: str, spec: ThreadSpec) -> None:
        self[thread_id] = spec
        if len(self) > SPECS_KEPT:
            self.popitem(last=False)


class Loading:
    def __init__(self, core: Core, opened: OpenedThread, cores: Cores) -> None:
        self.core: Core | None = core
        """The core that has it loaded."""
        self._cores = cores
        self._gone = ""
        self._goal = opened.paused_goal
        self.loss = opened.loss
        """What its file had lost when it was loaded, until caller and agent are told."""
        self._interrupted = opened.was_interrupted and opened.loss is None
        self._lost = ""
        """Why the core ended that had it loaded while it was idle; told with the next turn."""
        self._one_at_a_time = asyncio.Lock()

    def gone(self, thread_id: str) -> str:
        """Why it can never be continued; empty if it can."""
        return self._gone or ("" if self.core is None or self.core.resumes else self.core.why_lost(thread_id))

    def cannot_resume(self, why: str) -> None:
        self._gone = why

    async def load(self, thread_id: str, spec: ThreadSpec) -> Core:
        """The running core, which has it loaded now. Raises CoreError."""
        async with self._one_at_a_time:
            if why := self.gone(thread_id):
                raise CannotResume(why)
            core = await self._cores.core()
            if self.core is not core:
                opened = await core.resume_thread(thread_id, spec)
                self.core, self._goal, self.loss = core, opened.paused_goal, opened.loss
            return core

    async def unload(self, thread_id: str, quiesce: Callable[[], Awaitable[None]]) -> None:
        """Unload it, once it is quiet: what goes on in an unloaded thread is not seen here."""
        async with self._one_at_a_time:
            await quiesce()
            core, self.core = self.core, None
            if core is not None:
                with contextlib.suppress(CoreError):
                    await core.unload_thread(thread_id)

    def unloaded(self) -> None:
        """The core has unloaded it."""
        self.core = None

    def core_lost(self, core: Core, reason: CoreLost) -> bool:
        """Whether it was loaded in this core, which has ended."""
        if self.core is not core:
            return False
        self.core = None
        self._gone = self._gone if core.resumes else str(reason)
        self._lost = str(reason)
        return True

    def loss_was_told(self) -> None:
        """Its turn has failed with the core, so that its caller knows."""
        self._lost = ""

    def to_tell(self) -> list[str]:
        """Sentences for the caller, once: of a core that was lost, and of what was found at the loading."""
        lost, self._lost = self._lost, ""
        interrupted, self._interrupted = self._interrupted, False
        goal, self._goal = self._goal, ""
        return [
            *([CORE_LOST.format(lost.replace(AFTER_LOSS, "").strip())] if lost else []),
            *([INTERRUPTED] if interrupted else []),
            *([GOAL_PAUSED.format(goal)] if goal else []),
            *([self.loss.for_caller] if self.loss is not None else []),
        ]

    def told(self, spec: TurnSpec) -> TurnSpec:
        """A turn that also tells the agent, once, what it does not remember. A review reads no text."""
        loss = self.loss
        if loss is None or spec.review is not None:
            return spec
        self.loss = None
        return replace(spec, preface="\n\n".join(filter(None, (loss.for_agent, spec.preface))))


async def opened_by(opening: asyncio.Task[T]) -> T:
    """The thread that this task opens. Raises CoreLost, and what it raises."""
    await asyncio.wait([opening])  # not awaited directly: if the caller is cancelled, the opening goes on
    if opening.cancelled():
        raise CoreLost("the server is shutting down")
    return opening.result()
