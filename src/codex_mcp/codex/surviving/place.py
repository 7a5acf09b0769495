"""The folder in which the core of a state folder listens, and the server that owns it.

    who has the lock   what the record names         what happens
    -----------------  ----------------------------  -----------------------------------------------------------------
    another server     -                             this one starts a core of its own over stdio
    this server        nothing, or what is not ours  a new core; what fails the proof is left alone
    this server        a core that is proven         it is taken over

The lock is held for life. The guard of the core comes before the core, so that none is ever without one; the record
comes last, so that none is taken over that was not there for a server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final

from codex_mcp.access.process_tree import process
from codex_mcp.base.blocking import in_thread
from codex_mcp.base.files import make_private_folder, new_file, read_if_there, write_whole
from codex_mcp.base.locks import lock_file
from codex_mcp.base.processes.boots import boot_id
from codex_mcp.base.processes.marks import SERVED_BY
from codex_mcp.codex.process import last_words
from codex_mcp.codex.starting.guard import Lease, guard_words
from codex_mcp.codex.surviving.link import CoreLink, tail
from codex_mcp.codex.surviving.proof import NotProven, Proven, connected, has_ended, peer_of, prove
from codex_mcp.codex.surviving.record import CoreRecord, decoded, encoded
from codex_mcp.codex.surviving.terms import CannotSurvive, Command, Survival
from codex_mcp.transports.websockets.dialled import HandshakeRefused, dial

logger = logging.getLogger(__name__)

FOLDER: Final = "core"
"""In the state folder, which sandboxed agents cannot write."""

LOCK: Final = "server.lock"
RECORD: Final = "core.json"
SOCKET: Final = ".sock"
ERRORS: Final = ".stderr"
LEASE: Final = ".lease"

LOCK_PATIENCE: Final = 1.0
"""Seconds: the kernel frees the lock of a killed server when the last of its threads has ended."""

RECORD_BYTES: Final = 16 * 1024

PAUSE: Final = 0.01
"""Seconds between two looks whether a new core listens. It takes some tenths of a second."""

URL: Final = "ws://codex/"
"""A WebSocket needs an address; the socket is connected already."""


class _Process(subprocess.Popen[bytes]):
    """A process of which nobody is told that nobody has waited for it."""

    def let_go(self) -> None:
        self.returncode = 0


class Guard:
    """The guard of a surviving core: it notices when the pipe that this server holds is closed."""

    def __init__(self, process: _Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def leave(self) -> None:
        """Let it count from now on."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.let_go()  # it outlives us

    def end(self) -> None:
        """There is nothing left to guard. It blocks for a moment."""
        self._process.kill()
        self._process.communicate()


class Place:
    def __init__(self, survival: Survival) -> None:
        self._survival = survival
        self.folder = os.path.join(survival.state_dir, FOLDER)
        self._lock: int | None = None

    def __repr__(self) -> str:
        return f"<Place {self.folder}, {'ours' if self._lock is not None else 'not ours'}>"

    def take(self) -> None:
        """Become the server of this folder. It blocks. Raises CannotSurvive."""
        if self._lock is not None:
            return
        try:
            make_private_folder(self.folder)
            if os.stat(self.folder).st_mode & 0o077:
                raise PermissionError(f"{self.folder} is open to others")
            self._lock = lock_file(self._path(LOCK), LOCK_PATIENCE)
        except TimeoutError:
            raise CannotSurvive("another server of this state folder has the core that survives") from None
        except OSError as exc:
            raise CannotSurvive(f"cannot use {self.folder}: {exc.strerror or exc}") from exc

    def give_up(self) -> None:
        """Let another server have it. Calling it again is fine."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def left_core(self) -> tuple[CoreRecord, Proven] | None:
        """The core that an earlier server has left; None if there is none, or none that is proven. It blocks."""
        record = self.record()
        if record is None:
            return None
        try:
            return record, prove(record)
        except NotProven as exc:
            logger.info("the core of an earlier server is not taken over: %s", exc)
            return None

    def record(self) -> CoreRecord | None:
        """The core that was started here last; it may be gone. Blocks."""
        try:
            data = read_if_there(self._path(RECORD), RECORD_BYTES, links=False)
        except OSError as exc:
            logger.warning("cannot read %s: %s", self._path(RECORD), exc.strerror or exc)
            return None
        return None if data is None else decoded(data)

    async def take_over(self, record: CoreRecord, proven: Proven, timeout: float) -> CoreLink:
        """The connection to a core that is proven. Raises CannotSurvive."""
        try:
            channel = await dial(URL, {}, timeout, over=proven.connection)
        except (OSError, HandshakeRefused) as exc:
            proven.connection.close()
            os.close(proven.descriptor)
            raise CannotSurvive(f"the core of an earlier server does not answer: {exc}") from exc
        return CoreLink(record.pid, proven.descriptor, channel, self._path(record.mark + ERRORS))

    def start_guard(self, mark: str) -> Guard:
        """Guard the core with this mark from now on. It blocks. Raises CannotSurvive."""
        lease = Lease(self._survival.seconds, self._path(mark + LEASE), os.urandom(8).hex())
        try:
            guard = Guard(_started(guard_words(mark, lease), {"PATH": os.defpath}, stdin=subprocess.PIPE))
            write_whole(lease.file, f"{lease.word}\n".encode())
        except OSError as exc:
            raise CannotSurvive(f"cannot start its guard: {exc.strerror or exc}") from exc
        return guard

    async def start(self, command: Command, mark: str) -> CoreLink:
        """A new core, whose environment has this mark. Raises CannotSurvive."""
        path, errors = self._path(mark + SOCKET), self._path(mark + ERRORS)
        try:
            await in_thread(self._clear, mark)
            argv = [*command.argv, "--listen", f"unix://{path}"]
            started = await in_thread(_with_errors, argv, {**command.environment, SERVED_BY: mark}, errors)
            descriptor = os.pidfd_open(started.pid)
        except OSError as exc:
            raise CannotSurvive(f"cannot start Codex ({command.argv[0]}): {exc.strerror or exc}") from exc
        started.let_go()  # `CoreLink` waits for it
        link: CoreLink | None = None
        try:
            async with asyncio.timeout(command.patience):
                connection = await _connection(path, started.pid, descriptor)
                channel = await dial(URL, {}, command.patience, over=connection)
            link = CoreLink(started.pid, descriptor, channel, errors)
            await in_thread(self._write, started.pid, mark, command.version, path)
        except (OSError, HandshakeRefused, TimeoutError) as exc:
            words = last_words(await in_thread(tail, errors))
            why = ": ".join(filter(None, (str(exc) or "it did not answer in time", words)))
            raise CannotSurvive(f"cannot start Codex on {path}: {why}") from exc
        finally:
            if link is None:
                await in_thread(_end, descriptor, started.pid)
        return link

    def forget(self, mark: str) -> None:
        """This core has ended. Blocks."""
        for name in (RECORD, mark + SOCKET, mark + ERRORS, mark + LEASE):
            with contextlib.suppress(OSError):
                os.unlink(self._path(name))

    def _clear(self, mark: str) -> None:
        """Remove what earlier cores have left. Their guards end them, and need no file for that."""
        for name in os.listdir(self.folder):
            if name.endswith((SOCKET, ERRORS)) and not name.startswith(mark):
                with contextlib.suppress(OSError):
                    os.unlink(self._path(name))

    def _write(self, pid: int, mark: str, version: str, path: str) -> None:
        found = process(pid)
        started = 0 if found is None else found.started
        record = CoreRecord(boot_id(), pid, started, mark, os.getuid(), version, path, time.time())
        write_whole(self._path(RECORD), encoded(record))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)


async def _connection(path: str, pid: int, descriptor: int) -> socket.socket:
    """A connection to the process that we have started. Raises OSError."""
    while True:
        if has_ended(descriptor):
            raise ConnectionError("it has ended")
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            connection = await in_thread(connected, path)
            if peer_of(connection) == (pid, os.getuid()):
                return connection
            connection.close()
            raise ConnectionError("another process listens there")
        await asyncio.sleep(PAUSE)


def _with_errors(argv: Sequence[str], environment: Mapping[str, str], errors: str) -> _Process:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(errors)
    with new_file(errors) as file:
        return _started(argv, environment, stdin=subprocess.DEVNULL, stderr=file.fileno())


def _end(descriptor: int, pid: int) -> None:
    """End a core that has not become one, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    os.close(descriptor)


def _started(
    argv: Sequence[str], environment: Mapping[str, str], *, stdin: int, stderr: int = subprocess.DEVNULL
) -> _Process:
    """A process in a session of its own, which nothing ends when our process or our terminal ends."""
    return _Process(
        argv, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr, env=dict(environment), start_new_session=True
    )
