"""One running helper: hands it requests over a socket, takes its answers and perhaps an open file, ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final

from codex_mcp.execserver.launch import Launch, bury, launch
from codex_mcp.execserver.sandbox.helper_messages import BEGUN, SIZE_BYTES, framed

logger = logging.getLogger(__name__)

READ_BYTES: Final = 256 * 1024
STDERR_BYTES: Final = 4096
"""Enough for what bubblewrap says when it fails."""

HEAD: Final = len(BEGUN) + SIZE_BYTES


class HelperDied(Exception):
    """It ended before it had answered."""

    def __init__(self, *, has_begun: bool) -> None:
        super().__init__("the file helper has ended")
        self.has_begun = has_begun


class Helper:
    """A child that does one file request at a time. It holds what its view is made of, until its end."""

    def __init__(self, what: Launch, held: ExitStack) -> None:
        """`held` is closed at the end, also if it cannot be started. Raises OSError."""
        with held, ExitStack() as undo:
            line, theirs = socket.socketpair()
            undo.enter_context(line)
            with theirs:
                self._child = launch(replace(what, stdin=theirs.fileno()))
            line.settimeout(0)
            self._line = line
            undo.pop_all()
            self._held = held.pop_all()
        self._is_over = False

    def __repr__(self) -> str:
        return f"<Helper pid {self._child.pid}>"

    @property
    def pidfd(self) -> int:
        """Readable once it has ended."""
        return self._child.pidfd

    async def ask(self, question: bytes) -> tuple[bytes, int | None]:
        """Its answer, and an open file if there is one. Raises HelperDied. Whoever stops waiting has to end it."""
        loop = asyncio.get_running_loop()
        with suppress(BrokenPipeError, ConnectionResetError):  # it has ended, as will be seen
            await loop.sock_sendall(self._line, framed(question))
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
        """Read on; False if there is no more to come."""
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
        """It is not wanted any longer. It is killed, so it does not keep us waiting. Twice is fine."""
        if self._is_over:
            return
        self._is_over = True
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        bury(self._child.pid)
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
