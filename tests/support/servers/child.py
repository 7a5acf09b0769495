"""A program that a test runs beside itself: one way to start it, to read its stderr, and to end it."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from codex_mcp.base.tasks import TaskSet
from tests.support.patience import PATIENCE

LONGEST_LINE = 128 * 1024 * 1024


class Child:
    """`async with Child(argv, env, cwd) as child:` ends the program, and kills it with its group if it does not end."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, *, stdin: bool = True) -> None:
        self.stderr = ""
        """What it wrote to stderr so far."""
        self._argv = argv
        self._env = env
        self._cwd = cwd
        self._stdin = asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL
        self._tasks = TaskSet()
        self._readers: list[asyncio.Task[None]] = []
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=self._stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._cwd,
            env=self._env,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                await self.begin()
            self.spawn_reader(self._read_stderr())
        except BaseException:
            await self._end(self._kill)
            raise
        return self

    async def begin(self) -> None:
        """Wait until the program is ready. Called once, right after its start."""

    def spawn_reader(self, reading: Coroutine[object, object, None]) -> None:
        """Have this done until the program closes what it reads."""
        self._readers.append(self._tasks.spawn(reading, name=f"reader of {self._argv[0]}"))

    async def ask_to_end(self) -> None:
        """Tell it to end. Two signals: it does not wait for what still runs."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGINT)

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._end(self._end_by_itself)

    async def _end(self, end: Callable[[], Awaitable[None]]) -> None:
        try:
            await end()
        finally:
            await self._tasks.aclose()
            self.process._transport.close()  # type: ignore[attr-defined]  # else its pipes stay open until collected

    async def _end_by_itself(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self.ask_to_end()
                await self.process.wait()
        except TimeoutError:
            await self._kill()
            raise AssertionError(f"the child did not end: {self.stderr}") from None

    async def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The child."""
        assert self._process is not None
        return self._process

    @property
    def stdout(self) -> asyncio.StreamReader:
        """What it writes to stdout."""
        assert self.process.stdout is not None
        return self.process.stdout

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    def write(self, data: bytes) -> None:
        """Write bytes to its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def close_stdin(self) -> None:
        """Let it read the end of its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def exit_code(self) -> int:
        """Wait until it has ended, and until its last words have been read."""
        async with asyncio.timeout(PATIENCE):
            code = await self.process.wait()
            if self._readers:
                await asyncio.wait(self._readers)
        return code

    async def read_stderr(self) -> bool:
        """Read a line of stderr; False at its end."""
        assert self.process.stderr is not None
        line = await self.process.stderr.readline()
        self.stderr += line.decode(errors="replace")
        return bool(line)

    async def _read_stderr(self) -> None:
        while await self.read_stderr():
            pass
