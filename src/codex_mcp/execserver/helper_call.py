"""Calls the confined helper: starts it, hands it a request over a socket, takes the answer and perhaps an open file."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import signal
import socket
import sys
import sysconfig
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final

import msgspec
from msgspec import Raw, Struct

import codex_mcp
from codex_mcp.execserver.errors import internal_error
from codex_mcp.execserver.fs_helper import Question, Reply
from codex_mcp.execserver.launch import Child, Launch, launch
from codex_mcp.rpc.errors import RequestFailed

logger = logging.getLogger(__name__)

READ_BYTES: Final = 1 << 20
STDERR_BYTES: Final = 4096
"""Enough for what bubblewrap says when it fails."""

LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""What Python needs to start, besides itself."""

START: Final = "import sys; sys.path[:] = sys.argv[1:]; from codex_mcp.execserver.fs_helper import main; main()"


def helper_launch() -> Launch:
    """The helper's command: this Python, isolated, with the modules that we have ourselves."""
    argv = [sys.executable, "-I", "-S", "-c", START, *_module_folders()]
    return Launch(argv, "/", {"LC_ALL": "C.UTF-8"})


def runtime_paths() -> list[str]:
    """What the helper must be able to read in order to start, in a view that shows little."""
    own = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.realpath(sys.executable)), *_module_folders()]
    found = {path for path in (*LIBRARIES, *own) if os.path.isdir(path)}
    return sorted(path for path in found if not any(path.startswith(other + "/") for other in found))


def _module_folders() -> list[str]:
    """Where the helper's modules are. Not all of sys.path: `python -m` puts the current folder there."""
    ours = os.path.dirname(os.path.dirname(codex_mcp.__file__ or ""))
    theirs = os.path.dirname(os.path.dirname(msgspec.__file__))
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(_socket_module())]
    return list(dict.fromkeys([ours, *standard, theirs]))


def _socket_module() -> str:
    """A module of the standard library that is compiled; those have a folder of their own."""
    found = importlib.util.find_spec("_socket")
    return found.origin if found is not None and found.origin is not None else os.__file__


async def call_helper(what: Launch, started: ExitStack, asked: Struct) -> tuple[object, int | None]:
    """Ask, and return the answer and an open file if there is one. Raises RequestFailed."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = launch(replace(what, stdin=theirs.fileno()))
        started.close()
        os.set_blocking(ours.fileno(), False)
        descriptors: list[int] = []
        try:
            encoded = await _exchange(ours, _question(asked), descriptors)
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        finally:
            _end(child)
    return _result(encoded), descriptors[0] if descriptors else None


def _question(asked: Struct) -> bytes:
    return msgspec.json.encode(Question(type(asked).__name__, Raw(msgspec.json.encode(asked))))


async def _exchange(line: socket.socket, question: bytes, descriptors: list[int]) -> bytes:
    loop = asyncio.get_running_loop()
    with suppress(BrokenPipeError, ConnectionResetError):  # it ended early; what it said tells why, or its silence
        await loop.sock_sendall(line, question)
        line.shutdown(socket.SHUT_WR)
    parts: list[bytes] = []
    over = loop.create_future()

    def readable() -> None:
        try:
            data, fds, _, _ = socket.recv_fds(line, READ_BYTES, 1)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        parts.append(data)
        descriptors.extend(fds)
        if not data and not over.done():
            over.set_result(None)

    loop.add_reader(line.fileno(), readable)
    try:
        await over
    finally:
        loop.remove_reader(line.fileno())
    return b"".join(parts)


def _end(child: Child) -> None:
    """It has answered, or is not wanted any longer. It is killed, so it does not keep us waiting."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    with suppress(OSError):
        if complaint := os.read(child.stderr or child.stdout, STDERR_BYTES):
            logger.warning("the file helper says: %s", complaint.decode(errors="replace").strip())
    for descriptor in (child.pidfd, child.stdout, child.stderr):
        if descriptor is not None:
            os.close(descriptor)


def _result(encoded: bytes) -> object:
    if not encoded:
        raise internal_error("the sandbox could not be set up; the server's log says why")
    reply = msgspec.json.decode(encoded, type=Reply)
    if reply.error is not None:
        raise RequestFailed(reply.error)
    return reply.result
