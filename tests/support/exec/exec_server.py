"""A real exec-server for a test, with a private home: Codex's own, or any program that prints its URL first."""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from codex_cli_bin import bundled_codex_path

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import DEFAULT_OPTIONS, ExecServerClientConnectOptions
from tests.support.exec.cutting_proxy import CuttingProxy
from tests.support.servers.child import Child

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


class RunningServer(Child):
    """A server that listens; its first line says where."""

    def __init__(self, argv: Sequence[str], home: Path, path: str = os.environ["PATH"]) -> None:
        home.mkdir(parents=True, exist_ok=True)
        super().__init__(argv, {"PATH": path, "HOME": str(home), "CODEX_HOME": str(home)}, home, stdin=False)
        self.url = ""

    async def begin(self) -> None:
        """Wait until it listens."""
        self.url = (await self.stdout.readline()).decode().strip()
        assert self.url.startswith("ws://"), f"the server did not start: {self.url!r}"

    async def ask_to_end(self) -> None:
        """One signal is enough."""
        self.signal(signal.SIGTERM)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])


def codex_exec_server(codex: str | Path | None = None) -> list[str]:
    """The command line of Codex's own exec-server: of the wheel, or of another binary."""
    return [str(codex or bundled_codex_path()), "exec-server", "--listen", "ws://127.0.0.1:0"]


def own_exec_server() -> list[str]:
    """The command line of ours."""
    return [sys.executable, "-m", "codex_mcp", "exec-server", "--listen", "ws://127.0.0.1:0"]


def running_exec_server(home: Path) -> RunningServer:
    """The server that `served_by` names, or the wheel's Codex."""
    return RunningServer(SERVED_BY.get() or codex_exec_server(), home)


@dataclass(frozen=True, slots=True)
class Setting:
    """A client, its server, and the connection between them."""

    server: RunningServer
    proxy: CuttingProxy
    client: ExecServerClient
    folder: Path
    """Where the server runs."""


@contextlib.asynccontextmanager
async def connected(folder: Path, options: ExecServerClientConnectOptions = DEFAULT_OPTIONS) -> AsyncIterator[Setting]:
    """A client of a real server, through a proxy that can cut the connection."""
    home = folder / "home"
    async with (
        running_exec_server(home) as server,
        CuttingProxy(server.port) as proxy,
        ExecServerClient(proxy.url, options) as client,
    ):
        yield Setting(server, proxy, client, home)
