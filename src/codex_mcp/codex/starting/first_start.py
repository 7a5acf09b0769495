"""The first start of a Codex in its home, one server at a time.

Codex creates its databases at its first run in a home, and updates them at the first run of a version. If two do so at
once, one of them ends with an error. So servers take turns, with a lock on a file in that home. The file also lists the
versions that have started there, for which no server waits again.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import time
from collections.abc import AsyncIterator
from typing import Final

from codex_mcp.base.files import open_regular

logger = logging.getLogger(__name__)

LOCK_FILE: Final = ".codex-mcp.lock"

PAUSE: Final = 0.02
"""Seconds between two attempts to get the lock. A first start takes some tenths of a second."""

RETRY_DELAYS: Final = (0.1, 0.3, 1.0, 3.0)
"""Seconds before each new attempt if Codex still meets another one: the user's own, or an editor's."""


def met_another(stderr: str) -> bool:
    """Whether Codex ended because another one was using its databases."""
    return "failed to initialize sqlite" in stderr or "database is locked" in stderr


@contextlib.asynccontextmanager
async def one_at_a_time(codex_home: str, version: str, patience: float) -> AsyncIterator[None]:
    """Wait while another server starts this version for the first time.

    After `patience` seconds, or if the lock file cannot be created, it continues without the lock.
    """
    try:
        descriptor = open_regular(os.path.join(codex_home, LOCK_FILE), os.O_RDWR | os.O_CREAT)
    except OSError as exc:
        logger.warning("cannot make %s in %s: %s", LOCK_FILE, codex_home, exc.strerror)
        yield
        return
    try:
        if _has_started(descriptor, version):
            yield
            return
        await _lock(descriptor, patience)
        if _has_started(descriptor, version):  # meanwhile, by the one that held the lock
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            yield
            return
        yield
        os.pwrite(descriptor, f"{version}\n".encode(), os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)  # which gives the lock back


def _has_started(descriptor: int, version: str) -> bool:
    return version in os.pread(descriptor, 65536, 0).decode(errors="replace").split()


async def _lock(descriptor: int, patience: float) -> None:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            await asyncio.sleep(PAUSE)
        except OSError:  # a file system without locks
            return
    logger.warning("another server has been starting Codex for %g seconds; not waiting for it any longer", patience)
