"""`logging/setLevel`, the log level of a stateless request, and `notifications/message`: what the server's log says
about a client's own session, for clients that asked for it.

A record belongs to the session that it names (`base.logs.Subject`). Secrets are masked as in the log file. A session
gets at most 50 records per second; what is left out is counted in the next message.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from codex_mcp.base.logs import Subject, current_subject
from codex_mcp.base.secrets.redact import redact
from codex_mcp.wire.features import Level, LogMessage

NUMBERS: Final = {
    Level.DEBUG: logging.DEBUG,
    Level.INFO: logging.INFO,
    Level.NOTICE: 25,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
    Level.CRITICAL: logging.CRITICAL,
    Level.ALERT: 60,
    Level.EMERGENCY: 70,
}
"""The levels of MCP in Python's numbers."""

PER_SECOND: Final = 50
"""Records of one session in a second. A turn logs about five."""

MAX_CHARS: Final = 2000
"""The longest message. Tracebacks stay in the log file."""

Send: TypeAlias = Callable[[LogMessage], None]


def level_of(number: int) -> Level:
    """The MCP level of a record."""
    return max((level for level in NUMBERS if NUMBERS[level] <= number), key=NUMBERS.__getitem__, default=Level.DEBUG)


class Sink:
    """Where records about one session, or about one of its requests, are sent."""

    def __init__(self, subject: Subject, level: Level, send: Send) -> None:
        """A subject without a request stands for all requests of its session."""
        self._whose = (subject.session, subject.principal)
        self._request = subject.request
        self._send = send
        self._number = NUMBERS[level]
        self._second = 0
        self._sent = 0
        self._left_out = 0

    def set_level(self, level: Level) -> None:
        self._number = NUMBERS[level]

    def wants(self, record: logging.LogRecord, subject: Subject) -> bool:
        same = self._whose == (subject.session, subject.principal)
        return same and record.levelno >= self._number and self._request in ("", subject.request)

    def offer(self, message: LogMessage, now: float) -> None:
        """Send a message that is not a record of the log, if its level is wanted."""
        if NUMBERS[message.level] >= self._number:
            self.take(message, now)

    def take(self, message: LogMessage, now: float) -> None:
        """Send a message, unless this second has had enough of them."""
        if int(now) != self._second:
            self._second, self._sent = int(now), 0
        if self._sent >= PER_SECOND:
            self._left_out += 1
            return
        self._sent += 1
        if self._left_out:
            text = f"({self._left_out} messages were left out) {message.data}"
            message, self._left_out = LogMessage(message.level, message.logger, text), 0
        self._send(message)


class ClientLog(logging.Handler):
    """Gives records to the sinks that want them. It is part of Python's logging while there are sinks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._sinks: list[Sink] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_sending = False

    def add(self, sink: Sink) -> None:
        if not self._sinks:
            self._loop = asyncio.get_running_loop()
            logging.getLogger("codex_mcp").addHandler(self)
        self._sinks.append(sink)

    def remove(self, sink: Sink) -> None:
        """A sink that is not there is ignored."""
        if sink in self._sinks:
            self._sinks.remove(sink)
        if not self._sinks:
            logging.getLogger("codex_mcp").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        subject = current_subject()
        wanted = [sink for sink in tuple(self._sinks) if sink.wants(record, subject)]
        if not wanted or self._is_sending:  # sending may be logged, too
            return
        message = LogMessage(level_of(record.levelno), record.name, _text(record))
        if _runs_here(self._loop):
            self._send(wanted, message)
        elif self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._send, wanted, message)

    def _send(self, sinks: list[Sink], message: LogMessage) -> None:
        self._is_sending = True
        try:
            for sink in sinks:
                sink.take(message, time.monotonic())
        finally:
            self._is_sending = False


def _runs_here(loop: asyncio.AbstractEventLoop | None) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:  # another thread
        return False


def _text(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except (TypeError, ValueError, KeyError):  # wrong arguments must not stop the code that logs
        text = str(record.msg)
    return redact(text)[:MAX_CHARS]
