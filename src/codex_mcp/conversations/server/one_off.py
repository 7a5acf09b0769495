"""`execOneOffCommand`: a command in the sandbox that the caller names. All its descendants end with it.

The core runs and confines it. The timeout is ours, because the core's ends only the command's process group: a mark in
the environment finds the processes that left it, also after the command has ended by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from typing import Final

from msgspec import UNSET

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.principals import account
from codex_mcp.base.processes.marks import variables
from codex_mcp.base.processes.termination import end_processes
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.base.tasks import spawn
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.conversations.caller import Caller
from codex_mcp.conversations.policies import core_policy
from codex_mcp.conversations.refusals import failed, refused
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.threads.stopping.sandbox_leftovers import SandboxLeftovers
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import conversations as wire
from codex_mcp.wire.app.client_requests import CommandExec, ProcessId

MARK: Final = "CODEX_ONE_OFF"
MARK_BYTES: Final = 8

TIMEOUT_MS: Final = 10_000
LONGEST_MS: Final = 3600 * 1000
"""An hour: a command has no progress and no name by which it could be stopped; longer work is an agent's."""

AT_ONCE: Final = 64
AT_ONCE_OF_ONE: Final = 8
"""Commands that run at once, of all principals and of one of them; more are refused."""

MOST_OUTPUT: Final = 8 << 20
"""Bytes of stdout that the answer has, and as many of stderr. The rest is dropped."""

TIMED_OUT: Final = "exec failed: sandbox error: command timed out"
NO_SANDBOX: Final = "bwrap: "
"""Begins the complaint of a sandbox that cannot be set up. The command has not run then."""
NO_PROGRAM: Final = "Failed to execvp "
SPAWN_FAILED: Final = "failed to spawn command: "


class OneOffCommands:
    def __init__(self, threads: Threads, settings: CoreSettings) -> None:
        self._threads = threads
        self._settings = settings
        self._running: Counter[str] = Counter()
        """By principal."""

    async def run(self, caller: Caller, params: wire.ExecOneOffCommand) -> wire.Executed:
        principal = account(caller.principal)
        seconds = self._checked(params, principal)
        cwd = _folder(params.cwd)
        policy = UNSET if params.sandbox_policy is None else dict(core_policy(params.sandbox_policy, cwd))
        mark = os.urandom(MARK_BYTES).hex()
        request = CommandExec(list(params.command), mark, {MARK: mark}, cwd, MOST_OUTPUT, policy, disable_timeout=True)
        self._running[principal] += 1
        try:
            core = await self._threads.supervisor.core()
            return _outcome(await self._execute(core, request, seconds))
        except (CoreError, Refused) as exc:
            raise failed(f"exec failed: {str(exc).removeprefix(SPAWN_FAILED)}") from exc
        finally:
            self._running -= Counter((principal,))  # forgets a principal without commands

    def _checked(self, params: wire.ExecOneOffCommand, principal: str) -> float:
        """Its timeout in seconds."""
        if not params.command:
            raise refused("command must not be empty")
        limit = TIMEOUT_MS if params.timeout_ms is None else params.timeout_ms
        if not 0 <= limit <= LONGEST_MS:
            raise invalid_params(f"timeoutMs must be between 0 and {LONGEST_MS}")
        if is_elsewhere(self._settings.default_environment):
            raise refused("execOneOffCommand runs on the server's machine, but this server runs commands elsewhere")
        if self._running[principal] >= AT_ONCE_OF_ONE:
            raise refused(f"{AT_ONCE_OF_ONE} commands of yours run already; wait for one to end")
        if self._running.total() >= AT_ONCE:
            raise refused(f"{AT_ONCE} commands of all clients run already; wait for one to end")
        return limit / 1000

    async def _execute(self, core: Core, request: CommandExec, seconds: float) -> wire.Executed:
        leftovers = SandboxLeftovers(request.cwd)
        leftovers.look()
        patience = seconds + self._settings.request_timeout
        try:
            async with asyncio.timeout(seconds):
                executed = await core.request("command/exec", request, wire.Executed, patience)
        except (TimeoutError, asyncio.CancelledError) as exc:
            # Not awaited directly: the processes end even if this is cancelled again.
            await asyncio.shield(spawn(_end(core, request.process_id, leftovers), name="end of a one-off command"))
            if isinstance(exc, TimeoutError):
                raise failed(TIMED_OUT) from exc
            raise
        else:
            await asyncio.shield(spawn(_end_marked(request.process_id), name="end of what a command left"))
            return executed
        finally:
            await self._threads.supervisor.reap_orphans()


def _folder(cwd: str | None) -> str:
    return os.path.abspath(cwd or ".")


async def _end(core: Core, mark: str, leftovers: SandboxLeftovers) -> None:
    await _end_marked(mark)
    with contextlib.suppress(CoreError):  # it has ended, or the core has
        await core.request("command/exec/terminate", ProcessId(mark), dict[str, object])
    await _end_marked(mark)
    leftovers.clean()


async def _end_marked(mark: str) -> None:
    await in_thread(end_processes, lambda pid: variables(pid, (MARK,)) == {MARK: mark})


def _outcome(executed: wire.Executed) -> wire.Executed:
    """Raises RequestFailed if the command has not run."""
    if executed.exit_code and executed.stderr.startswith(NO_SANDBOX):
        raise failed(f"exec failed: sandbox error: {executed.stderr.strip()}; the command was not run")
    if executed.exit_code and NO_PROGRAM in executed.stderr and "linux-sandbox" in executed.stderr:
        line = executed.stderr.partition(NO_PROGRAM)[2].splitlines()[0]
        raise failed(f"exec failed: {line.partition(': ')[2]}")
    return executed
