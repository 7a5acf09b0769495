"""The log: `$CODEX_HOME/log/codex-rmcp.log` with secrets masked, and stderr unmasked. Stdout belongs to the protocol.

Every line names the session, principal, request and thread that it is about (`about_only`, `stay_about`). Several
servers may share the file. A log that cannot be written does not affect the server: it prints one warning on stderr
and goes on. If stderr is not read, lines are dropped.

No call waits for the disk of the log: while an event loop runs, lines up to INFO are buffered for a moment. A warning
and the end of the server flush the buffer; a server that is killed may lose it.
"""

import asyncio
import contextlib
import fcntl
import functools
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import NamedTuple

from codex_mcp.base.files import PRIVATE, is_named, make_private_folder, rotate
from codex_mcp.base.quick_records import quick_records
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.core import LogSettings
from codex_mcp.base.settings.kinds import LogLevel

LOG_FILE = os.path.join("log", "codex-rmcp.log")

TRACE = 5
"""Below DEBUG (10), a level without a name in the logging module: every message that is sent or received."""

NUMBERS: dict[LogLevel, int] = {
    LogLevel.OFF: logging.CRITICAL + 10,
    LogLevel.ERROR: logging.ERROR,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.INFO: logging.INFO,
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.TRACE: TRACE,
}

STDERR = 2

BUFFER_SECONDS = 0.02
"""Seconds that lines are buffered: too short to notice for a person who follows the file."""

MAX_BUFFERED = 100
"""Lines that are buffered at most."""

HARMLESS = frozenset("0123456789abcdefABCDEF-")
"""An id of only these characters is a number, a hash or a UUID."""

PIPE_PIECE = 512
"""A writable pipe accepts at least PIPE_BUF bytes without blocking, and POSIX guarantees 512."""


class Subject(NamedTuple):
    """What a line is about. Fields that do not apply are empty."""

    session: str = ""
    principal: str = ""
    request: str = ""
    thread: str = ""


NOTHING = Subject()

_subject: ContextVar[Subject] = ContextVar("log_subject", default=NOTHING)


class _About:
    """A class, because every call enters several of these and a generator takes three times as long."""

    __slots__ = ("_before", "_inside")

    def __init__(self, inside: Subject) -> None:
        self._inside = inside

    def __enter__(self) -> None:
        self._before = _subject.set(self._inside)

    def __exit__(self, *_: object) -> None:
        _subject.reset(self._before)


def about_only(subject: Subject) -> AbstractContextManager[None]:
    """Lines logged in this block, and by tasks started in it, carry these ids and no others.

    A task inherits the ids of the task that started it. Work that serves many requests (the core), or that another
    request starts (the next turn of a thread), must name its own.
    """
    return _About(subject)


def stay_about(subject: Subject) -> None:
    """Lines logged from now on in this task carry these ids and no others."""
    _subject.set(subject)


def current_subject() -> Subject:
    return _subject.get()


def _ids(subject: Subject) -> str:
    session, principal, request, thread = subject
    ids = _session_ids(session, principal)
    if request:
        ids += f" request={_id(request)}"
    return f"{ids} thread={_id(thread)}" if thread else ids


@functools.lru_cache(maxsize=1024)  # the same for all lines of a session
def _session_ids(session: str, principal: str) -> str:
    return (f" session={_id(session)}" if session else "") + (f" principal={_id(principal)}" if principal else "")


def _id(text: str) -> str:
    # Clients choose their request ids: one with a line break must not start a line of its own.
    return text if HARMLESS.issuperset(text) else _printable("_".join(redact(text).split()))


@contextlib.contextmanager
def logs_written(settings: LogSettings, codex_home: str) -> Iterator[None]:
    """Write logs as the settings say, within this block. To be entered once per program."""
    file_level = NUMBERS[settings.log_level or LogLevel.INFO]
    stderr_level = NUMBERS[settings.log_level or LogLevel.WARNING]
    path = os.path.join(codex_home, LOG_FILE)
    handlers: tuple[logging.Handler, ...] = (
        LogFile(path, file_level, max_bytes=settings.log_file_bytes, kept=settings.log_files_kept),
        StderrLog(STDERR, stderr_level),
    )
    ours, root = logging.getLogger("codex_mcp"), logging.getLogger()
    ours_before, root_before = ours.level, root.level
    ours.setLevel(min(file_level, stderr_level))
    root.setLevel(max(file_level, logging.WARNING))  # libraries log only problems
    for handler in handlers:
        root.addHandler(handler)
    try:
        with quick_records():
            yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        ours.setLevel(ours_before)
        root.setLevel(root_before)


def write_to_log(sentence: str, codex_home: str) -> None:
    """Append one error to the log file, for a server that has no settings because it does not start."""
    settings = LogSettings()
    path = os.path.join(codex_home, LOG_FILE)
    file = LogFile(path, logging.ERROR, max_bytes=settings.log_file_bytes, kept=settings.log_files_kept)
    file.handle(logging.LogRecord("codex_mcp", logging.ERROR, "", 0, sentence, (), None))
    file.close()


def line_for(record: logging.LogRecord, mask: Callable[[str], str] = str) -> str:
    """One record as text: time (UTC), level, module, ids, message. Further lines are indented, so none can be forged.

    Message and ids may contain foreign text: control characters are escaped, and `mask` is applied to the message.
    """
    try:
        text = record.getMessage()
    except (TypeError, ValueError, KeyError):  # wrong arguments must not stop the code that logs
        text = f"{record.msg} {record.args!r}"
    if record.exc_info:
        text = f"{text}\n{logging.Formatter().formatException(record.exc_info)}"
    level = "TRACE" if record.levelno == TRACE else record.levelname
    shown = _shown(mask(text))
    when = f"{_second(int(record.created))}.{int(record.msecs):03d}Z"
    return f"{when} {level:<7} {record.name}{_ids(_subject.get())}{' ' if shown else ''}{shown}\n"


def _shown(text: str) -> str:
    """The text with control and direction characters escaped, and further lines indented."""
    if text.isprintable():
        return text
    return "\n    ".join(map(_printable, text.splitlines()))


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


@functools.lru_cache(maxsize=1)  # many lines share a second
def _second(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


class StderrLog(logging.Handler):
    """Writes lines to stderr. A client that never reads them must not block us: what does not fit is dropped."""

    def __init__(self, descriptor: int, level: int) -> None:
        super().__init__(level)
        self._descriptor = descriptor
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        line = line_for(record)
        if self._dropped:
            line = f"({self._dropped} lines were dropped: stderr was not read)\n{line}"
        if self._write(line.encode(errors="backslashreplace")):
            self._dropped = 0
        else:
            self._dropped += 1

    def _write(self, data: bytes) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        try:
            while data and any(event & select.POLLOUT for _, event in poll.poll(0)):
                data = data[os.write(self._descriptor, data[:PIPE_PIECE]) :]
        except OSError:
            return False  # closed
        return not data


class LogFile(logging.Handler):
    """Appends masked lines to a file, which is created at the first line and rotated when it gets too long."""

    def __init__(self, path: str, level: int, *, max_bytes: int, kept: int) -> None:
        super().__init__(level)
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._descriptor: int | None = None
        self._buffered: list[str] = []
        self._flushing_thread: int | None = None
        """The thread whose event loop will flush the buffer."""
        self._complained = False

    def emit(self, record: logging.LogRecord) -> None:
        self._buffered.append(line_for(record, redact))
        if record.levelno >= logging.WARNING or len(self._buffered) >= MAX_BUFFERED or not self._flushes_soon():
            self._write_buffered()

    def flush(self) -> None:
        with self.lock or contextlib.nullcontext():
            self._flushing_thread = None
            self._write_buffered()

    def _flushes_soon(self) -> bool:
        """Have the running event loop flush the buffer soon; False if there is none."""
        thread = threading.get_ident()
        if self._flushing_thread == thread:
            return True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # another thread, or the loop has ended
            return False
        loop.call_later(BUFFER_SECONDS, self.flush)
        self._flushing_thread = thread
        return True

    def _write_buffered(self) -> None:
        lines, self._buffered = self._buffered, []
        if lines:
            data = "".join(lines).encode(errors="backslashreplace")
            try:
                os.write(self._with_room_for(len(data)), data)
            except OSError as error:
                self._complain(error)

    def close(self) -> None:
        """Flush, and close the file. A later line opens it again."""
        self.flush()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        super().close()

    def _with_room_for(self, size: int) -> int:
        descriptor = self._opened()
        length = os.fstat(descriptor).st_size
        if length == 0 or length + size <= self._max_bytes:
            return descriptor
        # Of several servers, the first to hold the lock rotates the file; the others then see that the path names
        # another file, and open that one. Whoever may read the file can hold its lock: it is not waited for.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if length + size <= 2 * self._max_bytes:
                return descriptor
        if is_named(descriptor, self._path):
            rotate(self._path, self._kept)
        self._descriptor = None
        os.close(descriptor)
        return self._opened()

    def _opened(self) -> int:
        if self._descriptor is None:
            make_private_folder(os.path.dirname(self._path))
            # A file never blocks; an unread pipe in its place would block the whole server.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
            self._descriptor = os.open(self._path, flags, PRIVATE)
        return self._descriptor

    def _complain(self, error: OSError) -> None:
        if self._complained:
            return
        self._complained = True
        reason = error.strerror or type(error).__name__
        with contextlib.suppress(OSError):
            os.write(STDERR, f"codex-mcp: cannot write the log {self._path}: {reason}; going on without it\n".encode())
