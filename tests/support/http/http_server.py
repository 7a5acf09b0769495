"""The real `codex-mcp mcp-server --port 0` as a child process, on the real Codex and a scripted model."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from codex_mcp.base.tasks import TaskSet
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR, Setup

ADDRESS = re.compile(r"serving MCP at https?://\S+:(\d+)/mcp")


class ChildServer:
    """`async with ChildServer(setup) as server:` ends it, and kills it if it does not end."""

    def __init__(self, setup: Setup, argv: Sequence[str]) -> None:
        self.setup = setup
        self.stderr = ""
        self.port = 0
        self._argv = argv
        self._tasks = TaskSet()
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        self.setup.make()
        self._process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.setup.work,
            env=self.setup.env(),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                await self._read_address()
        except BaseException:
            await self._kill()
            raise
        self._tasks.spawn(self._read_stderr(), name="server's stderr")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self.signal(number)
        try:
            await self.exit_code()
        except TimeoutError:
            await self._kill()
            raise AssertionError(f"the server did not end: {self.stderr}") from None
        finally:
            await self._tasks.aclose()
            self.process._transport.close()  # type: ignore[attr-defined]  # else its pipes stay open until collected

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The child."""
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        """What it wrote to its log file."""
        return (self.setup.codex_home / "log/codex-rmcp.log").read_text()

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    async def exit_code(self) -> int:
        """Wait for its end."""
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _read_address(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.stderr += line.decode()
            if (found := ADDRESS.search(self.stderr)) is not None:
                self.port = int(found[1])
                return
        raise AssertionError(f"the server ended before it served: {self.stderr}")

    async def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.stderr += data.decode()


def http_server(setup: Setup) -> ChildServer:
    """A server on a free port."""
    return ChildServer(setup, [*setup.argv(), "--port", "0"])


@contextlib.asynccontextmanager
async def scripted_http_server(
    folder: Path, *flags: str, script: Path = TOUR
) -> AsyncIterator[tuple[ChildServer, ScriptedModel]]:
    """A server and its model, which the test holds in its hands (gates, requests seen)."""
    async with (
        ScriptedModel(load_script(script)) as model,
        http_server(Setup(folder, model.codex_overrides(), flags)) as server,
    ):
        yield server, model
