"""The processes of an HTTP measurement: servers on one core, their clients on another."""

from __future__ import annotations

import os
import resource
import select
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.child import Child
from benchmarks.http_load import Done, Order
from benchmarks.lines import NoAnswer
from benchmarks.place import CannotMeasure

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".venv-peers/bin/python"

PATIENCE = 120.0
"""Seconds for a start, and for the slowest order: to open thousands of sessions on a busy machine."""


class _PinnedChild(Child):
    """A process on one core."""

    def __init__(self, argv: Sequence[str], core: int) -> None:
        super().__init__(argv, ROOT)
        if hasattr(os, "sched_setaffinity"):
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(self._process.pid, {cores[core % len(cores)]})

    def read_line(self) -> bytes:
        """The next line. Raises NoAnswer."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            raise NoAnswer(f"cannot measure: {self._process.args!r} ended, or hangs")
        return line

    def write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()


@dataclass(frozen=True, slots=True)
class MeasuredServer:
    """A server that can be measured."""

    name: str
    argv: Sequence[str]

    @property
    def waits(self) -> bool:
        """It has no `echo`; its `codex_wait` is called instead."""
        return self.name == "product"


PRODUCT = MeasuredServer("product", (sys.executable, "-m", "benchmarks.http_product"))
OURS = MeasuredServer("ours", (sys.executable, "-m", "benchmarks.http_ours"))
SDK_JSON = MeasuredServer("SDK, JSON", (str(PEERS), "benchmarks/http_peers.py", "sdk", "json"))
SDK_SSE = MeasuredServer("SDK, SSE", (str(PEERS), "benchmarks/http_peers.py", "sdk", "sse"))
FASTMCP_JSON = MeasuredServer("FastMCP, JSON", (str(PEERS), "benchmarks/http_peers.py", "fastmcp", "json"))
FASTMCP_SSE = MeasuredServer("FastMCP, SSE", (str(PEERS), "benchmarks/http_peers.py", "fastmcp", "sse"))

SERVER_CORE = 0
LOAD_CORE = 1


class HttpServer(_PinnedChild):
    """One of them, running."""

    def __init__(self, kind: MeasuredServer) -> None:
        if not PEERS.exists():
            raise CannotMeasure("cannot find .venv-peers with the other servers; run `make bench`, which creates it")
        super().__init__(kind.argv, SERVER_CORE)
        self.kind = kind
        self.port = int(self.read_line())

    def cpu_seconds(self) -> float:
        """Its processor time since the start; 0 where the system does not tell."""
        stat = Path(f"/proc/{self.pid}/stat")
        if not stat.exists():
            return 0.0
        # The name, in brackets, may hold spaces; the two times are the 12th and 13th word after it.
        words = stat.read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class LoadProcess(_PinnedChild):
    """The clients."""

    def __init__(self) -> None:
        super().__init__((sys.executable, "-m", "benchmarks.http_load"), LOAD_CORE)

    def carry_out(self, order: Order) -> Done:
        """Send an order to the clients, and wait until it is done. Raises NoAnswer."""
        self.write(msgspec.json.encode(order))
        done = msgspec.json.decode(self.read_line(), type=Done)
        if done.failed:
            raise NoAnswer(f"cannot measure: {order} failed: {done.failed}")
        return done


def raise_file_limit() -> int:
    """Raise the limit of open files to what the system permits, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
