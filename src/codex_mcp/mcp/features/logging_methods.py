"""Connects a session or a stateless request with the log messages that its client asked for."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import msgspec

from codex_mcp.base.logs import about_only
from codex_mcp.mcp.features.client_log import ClientLog, Send, Sink
from codex_mcp.mcp.methods import Exchange
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.wire.features import Level, LogMessage, SetLevel

MESSAGE = "notifications/message"


LogTo: TypeAlias = Callable[[Send, str], Callable[[], None]]
"""Sends further messages to the client of a principal; returns what ends that."""


class LoggingMethods:
    def __init__(self, log_to: LogTo | None = None) -> None:
        self._log = ClientLog()
        self._log_to = log_to

    def set_level(self, exchange: Exchange, asked: SetLevel) -> object:
        """From now on the client gets log messages of this level and above, of its own session."""
        exchange.session.part(Sink, lambda: self._sink(exchange, asked.level)).set_level(asked.level)
        return {}

    def _sink(self, exchange: Exchange, level: Level) -> Sink:
        session = exchange.session

        def send(message: LogMessage) -> None:
            session.client.notify(MESSAGE, message)

        sink = Sink(session.subject, level, send)
        self._log.add(sink)
        session.at_close(lambda: self._log.remove(sink))
        if self._log_to is not None:
            session.at_close(self._log_to(lambda message: sink.offer(message, time.monotonic()), session.principal))
        return sink

    def during(self, exchange: Exchange, level: object, handle: Callable[[Exchange], object]) -> object:
        """Handle a stateless request whose client wants log messages of this level. Raises RequestFailed."""
        try:
            wanted = msgspec.convert(level, Level)
        except msgspec.ValidationError as exc:
            raise invalid_params(f"the log level in _meta must be one of {', '.join(Level)}") from exc
        sink = Sink(exchange.subject, wanted, lambda message: exchange.notify(MESSAGE, message))
        with self._added(sink), about_only(exchange.subject):
            answer = handle(exchange)
        return self._until_answered(answer, exchange, sink) if inspect.iscoroutine(answer) else answer

    async def _until_answered(self, answer: Coroutine[Any, Any, object], exchange: Exchange, sink: Sink) -> object:
        with self._added(sink), about_only(exchange.subject):
            return await answer

    @contextlib.contextmanager
    def _added(self, sink: Sink) -> Iterator[None]:
        self._log.add(sink)
        try:
            yield
        finally:
            self._log.remove(sink)
