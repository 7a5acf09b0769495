"""A real exec-server for a test, with a private home: Codex' own, or any program that prints its URL first."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codex_cli_bin import bundled_codex_path

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import DEFAULT_OPTIONS, ExecServerClientConnectOptions
from tests.support.cutting_proxy import CuttingProxy

PATIENCE = 30.0
"""Seconds until a server that should start or stop is taken for one that does not."""


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


@contextlib.asynccontextmanager
async def running_exec_server(home: Path, argv: Sequence[str] = ()) -> AsyncIterator[RunningServer]:
    """Start it, read its URL, and stop it in the end."""
    _make(home)
    process = await asyncio.create_subprocess_exec(
        *(argv or codex_exec_server()),
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
async def connected(
    folder: Path, options: ExecServerClientConnectOptions = DEFAULT_OPTIONS, argv: Sequence[str] = ()
) -> AsyncIterator[Setting]:
    """A client of a real server, through a proxy that can cut the wire."""
    home = folder / "home"
    async with (
        running_exec_server(home, argv) as server,
        CuttingProxy(server.port) as proxy,
        ExecServerClient(proxy.url, options) as client,
    ):
        yield Setting(server, proxy, client, home)
