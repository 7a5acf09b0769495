"""Runs one command on an exec-server as if it were local: input, output, terminal size, signals, exit code."""

from __future__ import annotations

import contextlib
import logging
import signal
from collections.abc import Awaitable
from contextlib import AbstractContextManager
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.signals import signals_handled
from codex_mcp.base.tasks import TaskSet
from codex_mcp.cli.exec.terminal import StandardStreams, raw, read_input, write_output
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import ExecServerError, NotOffered
from codex_mcp.execclient.options import StartOptions
from codex_mcp.execclient.process import Process
from codex_mcp.wire.exec.protocol import OutputStream, ProcessOutput

logger = logging.getLogger(__name__)

LARGEST_EXIT_CODE: Final = 255

SIGNALLED: Final = 128
"""The exit code for a command ended by signal n is this plus n, as in a shell."""

END_OF_INPUT: Final = b"\x04"
"""^D: end of input on a terminal."""


class OutputLost(Explained):
    """Our own output cannot be written, for example because the disk is full."""


class ExecSession:
    def __init__(self, client: ExecServerClient, process: Process, streams: StandardStreams) -> None:
        self._client = client
        self._process = process
        self._streams = streams
        self._tasks = TaskSet()
        self._is_terminal = False
        self._interrupts = 0
        self._ending = 0
        """The exit code if we ended the process ourselves, else 0."""

    async def run(self, options: StartOptions) -> int:
        """Run until the process and its output have ended; return the exit code to report. Raises OutputLost."""
        self._is_terminal = options.tty and self._streams.is_terminal
        with self._forwarding_signals(), raw(self._streams.stdin) if self._is_terminal else contextlib.nullcontext():
            self._resize()
            if options.tty or options.pipe_stdin:
                self._tasks.spawn(self._forward_input(is_for_terminal=options.tty), name="exec stdin")
            try:
                await self._forward_output()
            finally:
                await self._tasks.aclose()
        return self._ending or exit_code_here(await self._process.wait())

    async def _forward_output(self) -> None:
        async for event in self._process.events():
            if isinstance(event, ProcessOutput) and not self._ending:
                fd = self._streams.stderr if event.stream is OutputStream.STDERR else self._streams.stdout
                try:
                    await write_output(fd, event.chunk)
                except BrokenPipeError:
                    await self._end(signal.SIGPIPE)
                except OSError as exc:
                    raise OutputLost(f"cannot write the command's output: {exc.strerror}; ended the command") from exc

    async def _forward_input(self, *, is_for_terminal: bool) -> None:
        try:
            async for data in read_input(self._streams.stdin):
                await self._process.write(data)
            if is_for_terminal:
                await self._process.write(END_OF_INPUT)
            else:
                await self._process.close_stdin()
        except NotOffered:
            logger.warning("the command will not see the end of its input: this exec-server cannot close it")
        except ExecServerError as exc:
            logger.debug("stopped forwarding input: %s", exc)

    def _forwarding_signals(self) -> AbstractContextManager[None]:
        return signals_handled(
            {
                signal.SIGINT: self._interrupt,
                signal.SIGTERM: lambda: self._soon(self._end(signal.SIGTERM)),
                signal.SIGHUP: lambda: self._soon(self._end(signal.SIGHUP)),
                signal.SIGWINCH: self._resize,
            }
        )

    def _interrupt(self) -> None:
        """The first ^C interrupts the command; the second kills it."""
        self._interrupts += 1
        self._soon(self._process.signal() if self._interrupts == 1 else self._end(signal.SIGINT))

    def _resize(self) -> None:
        if self._is_terminal and self._client.can_resize:
            size = self._streams.size()
            self._soon(self._process.resize(size.lines, size.columns))

    async def _end(self, number: signal.Signals) -> None:
        self._ending = SIGNALLED + number
        await self._process.terminate()

    def _soon(self, work: Awaitable[object]) -> None:
        self._tasks.spawn(_log_errors(work), name="exec signal")


async def _log_errors(work: Awaitable[object]) -> None:
    try:
        await work
    except ExecServerError as exc:
        logger.warning("%s", exc)


def exit_code_here(code: int) -> int:
    """An exit code of another machine as one of ours, which has eight bits: what does not fit must not become 0."""
    return code if 0 <= code <= LARGEST_EXIT_CODE else LARGEST_EXIT_CODE
