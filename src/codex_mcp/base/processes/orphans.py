"""Orphaned processes: on Linux we ask to become their parent, so that none of them outlives us.

Codex runs each command in its own session. When Codex is killed, its commands would live on unseen; as the "subreaper"
of our descendants we inherit them and end them. Elsewhere these functions find nothing, and a command may outlive a
killed core.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
from collections.abc import Callable, Collection
from typing import Final

from codex_mcp.base.processes.offspring import children, kill_children

logger = logging.getLogger(__name__)

PR_SET_CHILD_SUBREAPER: Final = 36
"""From linux/prctl.h."""

PR_SET_NAME: Final = 15
PR_SET_PDEATHSIG: Final = 1
"""From the same file."""


def adopt_orphans() -> bool:
    """Become the parent of every descendant that loses its own. To be called once per program."""
    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return False


def call_ourselves(name: str) -> None:
    """Set what the list of processes shows for us: up to 15 characters. To be called by the main thread."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def to_die_with_us() -> Callable[[], None] | None:
    """What a new child must run so that it is killed when we end (Linux). None if that is not possible here."""
    try:
        prctl = ctypes.CDLL(None).prctl  # looked up before the fork: afterwards nothing may be loaded
    except (OSError, AttributeError):
        return None
    return lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def kill_orphans(ours: Collection[int], found: Callable[[], set[int]] = children) -> int:
    """End every child found that is not in `ours`, with all its descendants. Return how many there were."""
    killed = kill_children(but=frozenset(ours), found=found)
    if killed:
        logger.info("ended %d processes that commands had left behind", killed)
    return killed


def reap_orphans(ours: Collection[int]) -> None:
    for pid in children().difference(ours):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
