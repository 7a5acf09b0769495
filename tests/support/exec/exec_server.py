"""A real exec-server for a test, with a private home: Codex' own, or any program that prints its URL first."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from codex_cli_bin import bundled_codex_path

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import DEFAULT_OPTIONS, ExecServerClientConnectOptions
from tests.support.exec.cutting_proxy import CuttingProxy
from tests.support.patience import PATIENCE

SERVED_BY: ContextVar[tuple[str, ...]] = ContextVar("SERVED_BY", default=())
"""The program that tests run against, if not the wheel's Codex; so that one test can judge several servers."""


@contextlib.contextmanager
def served_by(argv: Sequence[str]) -> Iterator[None]:
    """Within this, tests run against another server."""
    token = SERVED_BY.set(tuple(argv))
    try:
        yield
    finally:
        SERVED_BY.reset(token)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that listens."""

    url: str
    process: asyncio.subprocess.Process

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


def codex_exec_server(codex: str | Path | None = None) -> list[str]:
    """The command line of Codex' own exec-server: of the wheel, or of another binary."""
    return [str(codex or bundled_codex_path()), "exec-server", "--listen", "ws://127.0.0.1:0"]


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def own_exec_server() -> list[str]:
    """The command line of ours."""
    return [sys.executable, "-m", "codex_mcp", "exec-server", "--listen", "ws://127.0.0.1:0"]


@contextlib.asynccontextmanager
async def running_exec_server(home: Path) -> AsyncIterator[RunningServer]:
    """Start it, read its URL, and stop it in the end."""
    _make(home)
    process = await asyncio.create_subprocess_exec(
        *(SERVED_BY.get() or codex_exec_server()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            url = (await process.stdout.readline()).decode().strip()
        assert url.startswith("ws://"), f"the server did not start: {url!r}"
        yield RunningServer(url, process)
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(PATIENCE):
            await process.stdout.read()
            await process.wait()


@dataclass(frozen=True, slots=True)
class Setting:
    """A client, its server, and the wire between them."""

    server: RunningServer
    proxy: CuttingProxy
    client: ExecServerClient
    folder: Path
    """Where the server runs."""


@contextlib.asynccontextmanager
async def connected(folder: Path, options: ExecServerClientConnectOptions = DEFAULT_OPTIONS) -> AsyncIterator[Setting]:
    """A client of a real server, through a proxy that can cut the wire."""
    home = folder / "home"
    async with (
        running_exec_server(home) as server,
        CuttingProxy(server.port) as proxy,
        ExecServerClient(proxy.url, options) as client,
    ):
        yield Setting(server, proxy, client, home)
