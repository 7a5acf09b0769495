"""Pure. How a version of ours takes the place of a file that programs without locks replace too.

Two files are exchanged in one step, which shows what ours has displaced. Until that is known to be right, no other
program can open ours (`leases`), so whatever it writes meanwhile was made without ours.

    ours is exchanged for   and has displaced     so
    the file that we read   that file             nothing came in between: done
    the file that we read   another version       its program wrote since we looked: make ours again from that version
    our earlier version     our earlier version   what that one had displaced is in ours now: done
    our earlier version     another version       it replaces what ours had displaced, as it would have without us: make
                                                  ours again from that version

What was removed in a displaced version stays removed, and what was added is in ours. A program that has to read the
file before it writes comes in between once at most; for those that do not there is a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

MOST_ROUNDS: Final = 16
"""Versions of ours under one hold of the locks. Then the displaced version goes back, and ours is tried later."""


def placing(new: bytes, base: bytes, change: Callable[[bytes], bytes]) -> Generator[bytes, bytes, bool]:
    """Yield each version to exchange for the file, and receive the version that it displaced.

    Return whether the last one has the change in it.
    """
    ours, expected, is_changed = new, base, True
    for left in reversed(range(MOST_ROUNDS)):
        displaced = yield ours
        if displaced == expected:
            break
        is_changed = left > 1
        ours, expected = change(displaced) if is_changed else displaced, ours
    return is_changed
