"""One confined helper process: its command line, its requests and answers over a socket, and its end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import sysconfig
from contextlib import ExitStack, suppress
from typing import Final

import msgspec
import pybase64

import codex_mcp
from codex_mcp.execserver.launch import ProcessSpec, launch, reap
from codex_mcp.wire.exec.helper import BEGUN, SIZE_BYTES, framed

logger = logging.getLogger(__name__)

READ_BYTES: Final = 256 * 1024
STDERR_BYTES: Final = 4096
"""Enough for bubblewrap's error message."""

HEAD: Final = len(BEGUN) + SIZE_BYTES

LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""What Python needs to start, besides its own folders."""

START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    # Optional for msgspec, and slower to load than everything else.
    "sys.modules['typing_extensions'] = None; "
    "from codex_mcp.execserver.files.helper_main import main; main()"
)


def helper_command() -> ProcessSpec:
    """The helper's command: this Python, isolated, with the modules that the server uses."""
    argv = [sys.executable, "-I", "-S", "-c", START, *_module_folders()]
    return ProcessSpec(argv, "/", {"LC_ALL": "C.UTF-8"})


def runtime_paths() -> list[str]:
    """The folders that the helper must be able to read in order to start."""
    own = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.realpath(sys.executable)), *_module_folders()]
    found = {path for path in (*LIBRARIES, *own) if os.path.isdir(path)}
    return sorted(path for path in found if not any(path.startswith(other + "/") for other in found))


def _module_folders() -> list[str]:
    # Not all of sys.path: `python -m` puts the current folder there.
    ours = os.path.dirname(os.path.dirname(codex_mcp.__file__ or ""))
    theirs = [os.path.dirname(os.path.dirname(library.__file__ or "")) for library in (msgspec, pybase64)]
    # Compiled modules of the standard library have their own folder; which of them are compiled differs by system.
    compiled = [path for path in sys.path if os.path.basename(path) == "lib-dynload"]
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *compiled]
    return list(dict.fromkeys([ours, *standard, *theirs]))


class HelperDied(Exception):
    """The helper ended before it answered."""

    def __init__(self, *, has_begun: bool) -> None:
        super().__init__("the file helper has ended")
        self.has_begun = has_begun


class Helper:
    """A child that does one file request at a time. It keeps the resources of its view until its end."""

    def __init__(self, spec: ProcessSpec, held: ExitStack) -> None:
        """`held` is closed when the helper ends or cannot be started. Raises OSError."""
        with held, ExitStack() as undo:
            line, theirs = socket.socketpair()
            undo.enter_context(line)
            with theirs:
                self._child = launch(msgspec.structs.replace(spec, stdin=theirs.fileno()))
            line.settimeout(0)
            self._line = line
            undo.pop_all()
            self._held = held.pop_all()
        self._is_over = False

    @property
    def pidfd(self) -> int:
        """Readable once the helper has ended."""
        return self._child.pidfd

    async def ask(self, request: bytes) -> tuple[bytes, int | None]:
        """The answer, and the descriptor of an opened file. Raises HelperDied. After a cancellation, call `end()`."""
        loop = asyncio.get_running_loop()
        with suppress(BrokenPipeError, ConnectionResetError):  # the helper has ended; reading will show it
            await loop.sock_sendall(self._line, framed(request))
        over = loop.create_future()
        got, descriptors = bytearray(), list[int]()

        def readable() -> None:
            if not self._read(got, descriptors) and not over.done():
                over.set_result(None)

        loop.add_reader(self._line.fileno(), readable)
        try:
            await over
            if not _is_whole(got):
                raise HelperDied(has_begun=bool(got))
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        finally:
            loop.remove_reader(self._line.fileno())
        return bytes(memoryview(got)[HEAD:]), descriptors[0] if descriptors else None

    def _read(self, got: bytearray, descriptors: list[int]) -> bool:
        """Whether more is to come."""
        try:
            data, fds, _, _ = socket.recv_fds(self._line, READ_BYTES, 1)
        except BlockingIOError:
            return True
        except OSError:
            return False
        got += data
        descriptors += fds
        return bool(data) and not _is_whole(got)

    def end(self) -> None:
        """Kill the helper and release its view. May be called twice."""
        if self._is_over:
            return
        self._is_over = True
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        reap(self._child.pid)
        with suppress(OSError):
            if complaint := os.read(self._child.stderr or self._child.stdout, STDERR_BYTES):
                logger.warning("the file helper says: %s", complaint.decode(errors="replace").strip())
        for descriptor in (self._child.pidfd, self._child.stdout, self._child.stderr):
            if descriptor is not None:
                os.close(descriptor)
        self._line.close()
        self._held.close()


def _is_whole(got: bytearray) -> bool:
    return len(got) >= HEAD and len(got) - HEAD == int.from_bytes(got[len(BEGUN) : HEAD], "big")
