"""One command on an exec-server, as if it ran here: input and output, the terminal's size, signals, the exit code."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.tasks import TaskSet
from codex_mcp.cli.exec.terminal import Streams, raw, read_input, write_output
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import ExecServerError, NotOffered
from codex_mcp.execclient.options import Launch
from codex_mcp.execclient.process import Process
from codex_mcp.wire.exec.protocol import ProcessOutput, Stream

logger = logging.getLogger(__name__)

SIGNALLED: Final = 128
"""A shell adds this to the number of the signal that ended a command."""

END_OF_INPUT: Final = b"\x04"
"""^D: how one tells a terminal that no more will be typed."""


class OutputLost(Explained):
    """Our own output takes nothing more: a full disk, for example."""


class ExecSession:
    """Carries bytes and signals between our streams and the process."""

    def __init__(self, client: ExecServerClient, process: Process, streams: Streams) -> None:
        self._client = client
        self._process = process
        self._streams = streams
        self._tasks = TaskSet()
        self._is_terminal = False
        self._interrupts = 0
        self._ending = 0
        """The exit code that we chose, when it was we who ended the process."""

    async def run(self, launch: Launch) -> int:
        """Until the process and its output have ended. Return the exit code for our caller. Raises OutputLost."""
        self._is_terminal = launch.tty and self._streams.is_terminal
        with self._signals_passed_on(), raw(self._streams.stdin) if self._is_terminal else contextlib.nullcontext():
            self._resize()
            if launch.tty or launch.pipe_stdin:
                self._tasks.spawn(self._pass_input_on(is_for_terminal=launch.tty), name="exec stdin")
            try:
                await self._pass_output_on()
            finally:
                await self._tasks.aclose()
        return self._ending or await self._process.wait()

    async def _pass_output_on(self) -> None:
        async for event in self._process.events():
            if isinstance(event, ProcessOutput) and not self._ending:
                fd = self._streams.stderr if event.stream is Stream.STDERR else self._streams.stdout
                try:
                    await write_output(fd, event.chunk)
                except BrokenPipeError:
                    await self._end(signal.SIGPIPE)
                except OSError as exc:
                    raise OutputLost(f"cannot write what the command says: {exc.strerror}; it was ended") from exc

    async def _pass_input_on(self, *, is_for_terminal: bool) -> None:
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
            logger.debug("input goes nowhere any longer: %s", exc)

    @contextlib.contextmanager
    def _signals_passed_on(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        actions: dict[signal.Signals, Callable[[], None]] = {
            signal.SIGINT: self._interrupt,
            signal.SIGTERM: lambda: self._soon(self._end(signal.SIGTERM)),
            signal.SIGHUP: lambda: self._soon(self._end(signal.SIGHUP)),
            signal.SIGWINCH: self._resize,
        }
        # What we were told to ignore, by `nohup` or by a shell that put us into the background, stays ignored.
        heeded = [number for number in actions if signal.getsignal(number) is not signal.SIG_IGN]
        for number in heeded:
            loop.add_signal_handler(number, actions[number])
        try:
            yield
        finally:
            for number in heeded:
                loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        """The first ^C asks the command to stop; the second does not ask."""
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
        self._tasks.spawn(_quietly(work), name="exec signal")


async def _quietly(work: Awaitable[object]) -> None:
    try:
        await work
    except ExecServerError as exc:
        logger.warning("%s", exc)
