"""Runs `codex-mcp …` and records each function of codex_mcp that it enters, and what it reads and writes.

Run as a program: `python -m tests.walks.recorder LOG COMMAND …`. Imports nothing of codex_mcp before it is run, so
that it can record any version. Every line of the log is one `Line`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import runpy
import socket
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import uvloop

SHOWN_BYTES = 1 << 16
"""How much of a read or a write is recorded."""

READ, WRITE = "<", ">"


class Line(NamedTuple):
    """A function that was entered (`what` is its package), or something read or written."""

    thread: int
    what: str
    text: str


def read_log(path: Path) -> list[Line]:
    """The lines of a log, without one that is still being written."""
    return [Line(*json.loads(line)) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def read_line(fd: int, size: int, read: Any = os.read) -> bytes:
    """Read at most one line, so that the numbers do not depend on how many lines happen to have come."""
    line: bytes = read(fd, 1)
    with contextlib.suppress(BlockingIOError):
        while line and len(line) < size and not line.endswith(b"\n") and (more := read(fd, 1)):
            line += more
    return line


class Recorder:
    """Writes the log; what is read or written is in the file before the system call returns or begins."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("wb", buffering=0)
        self._lines: list[Line] = []
        self._writing = threading.Lock()
        self._packages: dict[str, str] = {}

    def start(self) -> None:
        """Record this thread and those to come; uvloop's reads and writes cannot be seen, so asyncio's loop is used."""
        uvloop.new_event_loop = asyncio.new_event_loop  # type: ignore[assignment]
        os.read = self._wrapped(read_line, READ)
        os.write = self._wrapped(os.write, WRITE)
        for name, sign in (("recv", READ), ("send", WRITE), ("sendmsg", WRITE)):
            setattr(socket.socket, name, self._wrapped(getattr(socket.socket, name), sign))
        threading.setprofile(self._entered)
        sys.setprofile(self._entered)

    def _entered(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and (package := self._package(frame.f_code.co_filename)):
            self._record(package, frame.f_code.co_qualname)

    def _package(self, filename: str) -> str:
        """`mcp` for a file of codex_mcp.mcp; empty for a file of somebody else."""
        if filename not in self._packages:
            _, found, rest = filename.rpartition("/codex_mcp/")
            self._packages[filename] = rest.split("/")[0].removesuffix(".py") if found else ""
        return self._packages[filename]

    def _wrapped(self, call: Any, sign: str) -> Any:
        def wrapped(first: Any, second: Any, *others: Any) -> Any:
            if sign == READ:
                data = call(first, second, *others)
                self._transferred(sign, data)
                return data
            self._transferred(sign, second if isinstance(second, bytes | bytearray | memoryview) else b"".join(second))
            return call(first, second, *others)

        return wrapped

    def _transferred(self, sign: str, data: Any) -> None:
        self._record(sign, bytes(data[:SHOWN_BYTES]).decode(errors="replace"))
        with self._writing:
            count = len(self._lines)  # other threads may add to them meanwhile
            self._log.write(b"".join(json.dumps(line).encode() + b"\n" for line in self._lines[:count]))
            del self._lines[:count]

    def _record(self, what: str, text: str) -> None:
        self._lines.append(Line(threading.get_ident(), what, text))


if __name__ == "__main__":
    recorder = Recorder(Path(sys.argv[1]))
    sys.argv = ["codex-mcp", *sys.argv[2:]]
    recorder.start()
    runpy.run_module("codex_mcp", run_name="__main__", alter_sys=True)
