"""The log: `$CODEX_HOME/log/codex-rmcp.log` with secrets masked, and stderr as it is. Stdout is the protocol's alone.

Every line says which session, principal, request and thread it is about (`about(...)`). Several servers may
share the file. A log that cannot be written never hurts the server: one warning on stderr, and on it goes; a stderr
that nobody reads loses lines rather than stop us.

No call waits for the log's disk: while an event loop runs, lines up to INFO gather for a moment. Warnings take along
what has gathered, and so does the end; a server that is killed may lose that moment.
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
"""Below DEBUG (10), for which the logging module has no name: every message on the wire."""

NUMBERS: dict[LogLevel, int] = {
    LogLevel.OFF: logging.CRITICAL + 10,
    LogLevel.ERROR: logging.ERROR,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.INFO: logging.INFO,
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.TRACE: TRACE,
}

STDERR = 2

GATHERING = 0.02
"""Seconds for which lines wait for each other: they are not missed by whoever reads along."""

MOST_GATHERED = 100
"""Lines that wait; a flood is written as it comes."""

HARMLESS = frozenset("0123456789abcdefABCDEF-")
"""An id of these is a number, a hash or a UUID."""

PIPE_PIECE = 512
"""A pipe that polls as writable takes at least PIPE_BUF bytes without blocking, and POSIX promises 512 of them."""


class Subject(NamedTuple):
    """What a line is about. What does not apply is empty."""

    session: str = ""
    principal: str = ""
    request: str = ""
    thread: str = ""


NOTHING = Subject()

_subject: ContextVar[Subject] = ContextVar("log_subject", default=NOTHING)


class _About:
    """A context manager as a class: every call enters several, and a generator takes three times as long."""

    __slots__ = ("_before", "_inside")

    def __init__(self, inside: Subject) -> None:
        self._inside = inside

    def __enter__(self) -> None:
        self._before = _subject.set(self._inside)

    def __exit__(self, *_: object) -> None:
        _subject.reset(self._before)


def about(*, session: str = "", request: str = "", thread: str = "") -> AbstractContextManager[None]:
    """Lines logged inside, also by tasks started inside, carry these ids; an inner id replaces an outer one."""
    known = _subject.get()
    return _About(Subject(session or known.session, known.principal, request or known.request, thread or known.thread))


def about_only(subject: Subject) -> AbstractContextManager[None]:
    """Lines logged inside carry these ids and no others, whoever started the task.

    A task inherits the ids of whoever started it. What serves many (the core), and what works for one request but is
    started by another (the next turn of a thread), says here what it is about.
    """
    return _About(subject)


def current_subject() -> Subject:
    """What lines logged here are about."""
    return _subject.get()


def _ids(subject: Subject) -> str:
    """The ids of a line, each with a space before it."""
    session, principal, request, thread = subject
    ids = _session_ids(session, principal)
    if request:
        ids += f" request={_id(request)}"
    return f"{ids} thread={_id(thread)}" if thread else ids


@functools.lru_cache(maxsize=1024)  # the same for all lines of a session
def _session_ids(session: str, principal: str) -> str:
    return (f" session={_id(session)}" if session else "") + (f" principal={_id(principal)}" if principal else "")


def _id(text: str) -> str:
    # Clients choose their request ids: one with a line break in it must not begin a line of ours.
    return text if HARMLESS.issuperset(text) else _printable("_".join(redact(text).split()))


@contextlib.contextmanager
def logs_written(settings: LogSettings, codex_home: str) -> Iterator[None]:
    """Write logs as the settings say, while inside. To be entered once, by the program."""
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
    root.setLevel(max(file_level, logging.WARNING))  # of libraries only what went wrong
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


def line_for(record: logging.LogRecord, mask: Callable[[str], str] = str) -> str:
    """One record as text: time (UTC), level, module, ids, message. Further lines are indented: none can be forged.

    The message and the ids hold what others say: control characters are written out, and `mask` is for the message.
    """
    try:
        text = record.getMessage()
    except (TypeError, ValueError, KeyError):  # arguments that do not fit the text must not end what is logged
        text = f"{record.msg} {record.args!r}"
    if record.exc_info:
        text = f"{text}\n{logging.Formatter().formatException(record.exc_info)}"
    level = "TRACE" if record.levelno == TRACE else record.levelname
    shown = _shown(mask(text))
    when = f"{_second(int(record.created))}.{int(record.msecs):03d}Z"
    return f"{when} {level:<7} {record.name}{_ids(_subject.get())}{' ' if shown else ''}{shown}\n"


def _shown(text: str) -> str:
    """The text with control and direction characters written out, and further lines indented."""
    if text.isprintable():
        return text
    return "\n    ".join(map(_printable, text.splitlines()))


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


@functools.lru_cache(maxsize=1)  # many lines have the same
def _second(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


class StderrLog(logging.Handler):
    """Lines for whoever watches. A client that never reads them must not stop us: what does not fit is dropped."""

    def __init__(self, descriptor: int, level: int) -> None:
        super().__init__(level)
        self._descriptor = descriptor
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, if the reader keeps up."""
        line = line_for(record)
        if self._dropped:
            line = f"({self._dropped} lines were dropped: nobody read them)\n{line}"
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
            return False  # closed: there is nobody to tell
        return not data


class LogFile(logging.Handler):
    """Appends masked lines to a file, made (with its folder) at the first line, and set aside when it gets too long."""

    def __init__(self, path: str, level: int, *, max_bytes: int, kept: int) -> None:
        super().__init__(level)
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._descriptor: int | None = None
        self._gathered: list[str] = []
        self._flushing_thread: int | None = None
        """The thread whose event loop flushes in a moment."""
        self._complained = False

    def emit(self, record: logging.LogRecord) -> None:
        """Append the record, now or in a moment."""
        self._gathered.append(line_for(record, redact))
        if record.levelno >= logging.WARNING or len(self._gathered) >= MOST_GATHERED or not self._comes_back():
            self._write_gathered()

    def flush(self) -> None:
        """Write what has gathered."""
        with self.lock or contextlib.nullcontext():
            self._flushing_thread = None
            self._write_gathered()

    def _comes_back(self) -> bool:
        """An event loop flushes in a moment."""
        thread = threading.get_ident()
        if self._flushing_thread == thread:
            return True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # another thread, or no loop any longer
            return False
        loop.call_later(GATHERING, self.flush)
        self._flushing_thread = thread
        return True

    def _write_gathered(self) -> None:
        lines, self._gathered = self._gathered, []
        if lines:
            data = "".join(lines).encode(errors="backslashreplace")
            try:
                os.write(self._with_room_for(len(data)), data)
            except OSError as error:
                self._complain(error)

    def close(self) -> None:
        """Write what is left, and close the file, if it was opened. A later line opens it again."""
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
        # Of several servers that write here, the first one to hold the lock sets the file aside; the others then
        # see that the name belongs to another file, and open that one.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if is_named(descriptor, self._path):
            rotate(self._path, self._kept)
        self._descriptor = None
        os.close(descriptor)
        return self._opened()

    def _opened(self) -> int:
        if self._descriptor is None:
            make_private_folder(os.path.dirname(self._path))
            # A file never blocks; a pipe in its place, which nobody reads, would hold up all of the server.
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
