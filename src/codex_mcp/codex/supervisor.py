"""Keeps one Codex running for as long as it is needed.

    state     core()                         warm_up()   it dies                       stop()
    --------  -----------------------------  ----------  ----------------------------  --------------------
    NONE      starts one, and waits for it   starts one  -                             STOPPED
    STARTING  waits for the same start       nothing     the start fails: NONE         waits, ends it, STOPPED
    RUNNING   returns it                     nothing     NONE, and the listener hears  ends it, STOPPED
    STOPPED   CoreLost                       nothing     -                             nothing

While it stands still (`still`), core() raises CoreError in every state.

A dead core is not restarted until the next call needs one: a core that dies at once would otherwise die in a loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.logs import NOTHING, about_only
from codex_mcp.base.processes.marks import SERVED_BY, variables
from codex_mcp.base.processes.offspring import children
from codex_mcp.base.processes.orphans import kill_orphans, reap_orphans, to_die_with_us
from codex_mcp.base.processes.termination import end_processes
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.app_server import AppServer
from codex_mcp.codex.core import Core, CoreError, CoreListener, CoreLost
from codex_mcp.codex.environments import EnvironmentState
from codex_mcp.codex.process import CoreProcess, Standstill, SupervisedCore, cannot_start, reason_in
from codex_mcp.codex.starting.first_start import RETRY_DELAYS, met_another, one_at_a_time
from codex_mcp.codex.starting.guard import start_guard
from codex_mcp.codex.surviving.terms import CannotSurvive, Command, Survival
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.peer import Pace
from codex_mcp.transports.child import Child, Exit, start_child

if TYPE_CHECKING:  # loaded for a core that may outlive us
    from codex_mcp.codex.surviving.cores import SurvivingCores
    from codex_mcp.codex.surviving.link import CoreLink

logger = logging.getLogger(__name__)

MARK_BYTES: Final = 8
"""A mark need not be secret, only unique."""

LEFT: Final = "the server has left Codex to the next one"

LOST: Final = "Codex ended unexpectedly"

EXIT_GRACE: Final = 2.0
"""Seconds from closing stdin until the kill. Codex ends within 0.1 s, or 0.3 s with a hundred threads."""


class CoreLaunch(Struct, frozen=True):
    argv: Sequence[str]
    environment: Mapping[str, str]
    converse: Callable[[Channel, CoreListener, CoreSettings, Pace], SupervisedCore] = AppServer
    backend: str = "app-server"
    """The `codex` command that runs."""
    version: str = ""
    is_guarded: bool = False
    """If this server is killed, the guard (`codex.starting.guard`) ends what the core leaves behind."""
    dies_with_us: bool = False
    """It is killed when this server is (Linux). Otherwise it may survive that, or send requests to the model before it
    ends. Codex writes each line of a conversation at once, so none is lost."""
    survival: Survival | None = None
    """It may outlive this server. The last two then apply only if that is not possible here."""


Launcher: TypeAlias = Callable[[], Awaitable[CoreLaunch]]


class SupervisorListener(CoreListener, Protocol):
    """Receives a core's messages and the news of its end."""

    def core_lost(self, core: Core, reason: CoreLost) -> None:
        """The core is gone and sends nothing more."""


class MetAnother(CoreError):
    """Codex did not start because another one was starting in the same home."""


class _Running(Struct, eq=False):
    app: SupervisedCore
    child: Child | CoreLink
    process: CoreProcess
    has_started: bool = False
    is_ending: bool = False
    """The server has asked it to end."""


class Supervisor:
    def __init__(
        self,
        settings: CoreSettings,
        listener: SupervisorListener,
        launch: Launcher,
        pace: Pace,
    ) -> None:
        self._settings = settings
        self._listener = listener
        self._launch = launch
        self._pace = pace
        self._tasks = TaskSet()
        self._starting: asyncio.Task[Core] | None = None
        self._running: _Running | None = None
        self._listening: asyncio.Task[None] | None = None
        self._children: set[int] = set()
        # The shell that started us may have left us its children (`helper & exec codex-mcp`). They must not be ended.
        self._foreign = children()
        self.mark = os.urandom(MARK_BYTES).hex()
        """Identifies its cores and their commands by their environment."""
        self.still = Standstill(self.mark, self.orphans, self._process)
        self._guard: Child | None = None
        self._surviving: SurvivingCores | None = None
        # Held while a child is started, so that it is not taken for an orphan.
        self._making = asyncio.Lock()
        self._stopped = False
        self.starts = 0
        """The number of cores started so far."""
        self.last_exit: str | None = None
        """How the last core that ended unexpectedly ended."""
        self.last_exit_at: float | None = None
        """When, in seconds since 1970."""
        self._launched: CoreLaunch | None = None

    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "running" if self._running else "starting" if self._starting else "none"
        return f"<Supervisor {state}, {self.starts} starts>"

    @property
    def pid(self) -> int | None:
        return self._running.child.pid if self._running is not None else None

    @property
    def backend(self) -> str:
        return "" if self._launched is None else self._launched.backend

    @property
    def version(self) -> str:
        return "" if self._launched is None else self._launched.version

    def environments(self) -> Mapping[str, EnvironmentState]:
        """How the core has those that its threads have needed; an old Codex runs commands on this machine only."""
        app = None if self._running is None else self._running.app
        return app.environments() if isinstance(app, AppServer) else {}

    async def core(self) -> Core:
        """Return the running core, starting one if necessary. Raises CoreError, or Refused if there is no Codex."""
        if self._stopped:
            raise CoreLost("the server is shutting down")
        self.still.check()
        if self._running is not None:
            return self._running.app
        starting = self._started()
        await asyncio.wait([starting])  # not awaited itself: a cancelled caller must not cancel the start
        if starting.cancelled():
            raise CoreLost("the server is shutting down")
        return starting.result()

    def warm_up(self) -> None:
        """Begin to start a core, unless there is one. The first call that needs the core reports a failure."""
        if self._running is None and not self._stopped:
            self._started()

    def _started(self) -> asyncio.Task[Core]:
        if self._starting is None:
            with about_only(NOTHING):  # it serves many requests, not only the first one
                self._starting = self._tasks.spawn(self._start(), name="start of the core")
            self._starting.add_done_callback(self._start_done)
        return self._starting

    def _start_done(self, task: asyncio.Task[Core]) -> None:
        self._starting = None

    async def _start(self) -> Core:
        if self._listening is not None:  # a core that was given up holds its threads until it is gone
            await asyncio.wait([self._listening], timeout=2 * EXIT_GRACE)
        async with self._making:
            launch = await self._launch()
        patience = self._settings.start_timeout
        async with one_at_a_time(self._settings.codex_home, launch.version, patience):
            for delay in RETRY_DELAYS:
                try:
                    return await self._start_once(launch)
                except MetAnother as exc:
                    logger.warning("%s; starting it again in %g s", exc, delay)
                    await asyncio.sleep(delay)
            return await self._start_once(launch)

    async def _start_once(self, launch: CoreLaunch) -> Core:
        async with self._making:
            self.still.check()
            child = await self._child(launch)
            self._children.add(child.pid)
            if self.still.holds:
                self.still.include(child.pid)
        self.starts += 1
        self._launched = launch
        app = launch.converse(child, self._listener, self._settings, self._pace)
        running = self._running_core(app, child)
        listening = self._listening = self._tasks.spawn(self._listen(running), name=f"core {child.pid}")
        try:
            async with self._making:
                await self._start_guard(launch)
            async with asyncio.timeout(self._settings.start_timeout):
                greeting = await app.initialize()
        except (CoreError, TimeoutError, asyncio.CancelledError) as exc:
            child.kill()
            ended = await child.wait()
            await asyncio.wait([listening])
            if isinstance(exc, asyncio.CancelledError):
                raise  # we are stopping: this is not a failed start
            kind = MetAnother if met_another(ended.stderr) else CoreError
            raise kind(cannot_start(launch.argv[0], ended, exc)) from exc
        logger.info("core %d started: %s, %s", child.pid, launch.argv[0], greeting.user_agent)
        self._running = running
        running.has_started = True
        return app

    async def _child(self, launch: CoreLaunch) -> Child | CoreLink:
        if launch.survival is not None:
            try:
                return await self._linked(launch, launch.survival)
            except CannotSurvive as exc:
                logger.warning("%s; Codex does not outlive this server", exc)
        try:
            limit = self._settings.max_message_bytes
            before_exec = to_die_with_us() if launch.dies_with_us else None
            environment = {**launch.environment, SERVED_BY: self.mark}
            return await start_child(launch.argv, environment, limit, before_exec=before_exec)
        except OSError as exc:
            raise CoreError(f"cannot start Codex ({launch.argv[0]}): {exc.strerror or exc}") from exc

    async def _linked(self, launch: CoreLaunch, survival: Survival) -> CoreLink:
        """The core that an earlier server has left, with its mark, or a new one. Raises CannotSurvive."""
        if self._surviving is None:
            from codex_mcp.codex.surviving.cores import SurvivingCores  # noqa: PLC0415  most cores are on stdio

            self._surviving = SurvivingCores(survival)
        command = Command(launch.argv, launch.environment, launch.version, self._settings.start_timeout)
        linked = await self._surviving.core(command, self.mark)
        self.mark = linked.mark
        self._children |= self._surviving.pids()
        return linked.link

    def _running_core(self, app: SupervisedCore, child: Child | CoreLink) -> _Running:
        def end() -> None:
            if self._running is running:
                self._running = None  # at once: the next call gets a new one
            child.kill()

        app.process = CoreProcess(child.pid, end)
        running = _Running(app, child, app.process)
        return running

    async def _listen(self, running: _Running) -> None:
        """Pass on the core's messages until it is gone, then report its end."""
        try:
            await self._hear(running)
        finally:
            running.process.lost(CoreLost("the server has stopped Codex"))  # unless it already has a reason

    async def _hear(self, running: _Running) -> None:
        try:
            # As a task of its own: each message then wakes its reader directly, and not through this call first.
            await self._tasks.spawn(running.app.run(), name=f"messages of core {running.child.pid}")
        finally:
            if self._running is running:
                self._running = None  # at once: the next call gets a new one
            await running.app.aclose()  # withdraws its questions
            ended = await self._reap(running.child)
            reason = _lost(running, ended)
            running.process.lost(reason)
            if running.has_started and not running.is_ending:
                self.last_exit, self.last_exit_at = running.process.fault or str(ended), time.time()
                logger.error("%s; end of its stderr: %s", reason, ended.stderr[-500:])
                self._listener.core_lost(running.app, reason)

    async def _reap(self, child: Child | CoreLink) -> Exit:
        """The core closed its stdout: wait for its end, and enforce it after EXIT_GRACE."""
        try:
            async with asyncio.timeout(EXIT_GRACE):
                ended = await child.wait()
        except (TimeoutError, asyncio.CancelledError) as exc:
            child.kill()
            ended = await child.wait()
            if isinstance(exc, asyncio.CancelledError):  # the server stops: `_end` does not know this core any more
                raise
        surviving = self._outliving(child)
        if surviving is not None and surviving.has_left:
            return ended
        self._children.discard(child.pid)
        await self.end_orphans()
        if surviving is not None:
            await self.end_commands(lambda _: True)  # they may be no children of ours
            await surviving.core_ended(self.mark)
        return ended

    async def _start_guard(self, launch: CoreLaunch) -> None:
        """Start the guard that cleans up after the core if this server is killed."""
        is_guarded = self._guard is not None or (self._surviving is not None and self._surviving.pids())
        if launch.is_guarded and not is_guarded and (guard := await start_guard(self.mark)) is not None:
            self._guard = guard
            self._children.add(guard.pid)

    def orphans(self) -> set[int]:
        """Processes that commands have left behind. Our mark distinguishes them from foreign children."""
        found = children() - self._children - self._foreign
        if not self._foreign:
            return found
        return {pid for pid in found if variables(pid, (SERVED_BY,)).get(SERVED_BY) == self.mark}

    async def end_orphans(self, is_meant: Callable[[int], bool] = lambda _: True) -> None:
        """End processes that commands have left behind, if `is_meant`."""
        async with self._making:
            kill_orphans(self._children, lambda: {pid for pid in self.orphans() if is_meant(pid)})

    async def end_commands(self, is_meant: Callable[[int], bool]) -> int:
        """End all processes of commands for which `is_meant` is true. Return how many there were."""
        ours = {SERVED_BY: self.mark}
        return await in_thread(end_processes, lambda pid: variables(pid, (SERVED_BY,)) == ours and is_meant(pid))

    async def reap_orphans(self) -> None:
        """Reap the processes left behind by commands that have ended by themselves."""
        async with self._making:
            reap_orphans(self._children)

    def _process(self) -> CoreProcess | None:
        return None if self._running is None else self._running.process

    async def _end(self, running: _Running) -> None:
        """Close its stdin, wait, kill."""
        self._running = None
        running.is_ending = True
        await running.child.aclose()
        if not running.app.leaves:
            running.child.kill()
        ended = await self._reap(running.child)
        await running.app.aclose()
        reason = _lost(running, ended)
        running.process.lost(reason)
        self._listener.core_lost(running.app, reason)
        logger.info("core %d ended with %s", running.child.pid, ended)

    def _outliving(self, child: Child | CoreLink) -> SurvivingCores | None:
        """What keeps this core, if it may outlive us."""
        return self._surviving if self._surviving is not None and self._surviving.link is child else None

    async def _leave(self, running: _Running, surviving: SurvivingCores) -> None:
        self._running = None
        running.is_ending = True
        await surviving.leave()
        await running.app.aclose()
        running.process.lost(CoreLost(LEFT))
        logger.info("core %d goes on without this server", running.child.pid)

    async def retire(self, core: Core) -> None:
        """End this core if it still runs. The next call starts another."""
        if self._running is not None and self._running.app is core:
            await self._end(self._running)

    async def stop(self, *, leave: bool = False) -> None:
        """End the core and refuse to start another. Repeatable. `leave`: a core that may outlive us goes on."""
        self._stopped = True
        if self._starting is not None:
            self._starting.cancel()
            with contextlib.suppress(CoreError, asyncio.CancelledError):
                await self._starting
        if self._running is not None:
            surviving = self._outliving(self._running.child) if leave else None
            await (self._end(self._running) if surviving is None else self._leave(self._running, surviving))
        await self._tasks.aclose()
        if self._surviving is not None:
            await self._surviving.aclose()
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.kill()
            await guard.wait()


def _lost(running: _Running, ended: Exit) -> CoreLost:
    if running.is_ending:
        return CoreLost("the server has stopped Codex")
    if fault := running.process.fault:
        return CoreLost(f"Codex {fault} and was stopped. {running.app.after_loss}")
    words = reason_in(ended.stderr)
    said = f"{ended}: {words}" if words else str(ended)
    return CoreLost(f"{LOST} ({said}). {running.app.after_loss}")
