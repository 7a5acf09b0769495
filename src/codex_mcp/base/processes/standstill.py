"""Lets processes stand still with all their descendants, and go on again (Linux; elsewhere it finds none)."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from codex_mcp.base.processes.offspring import PROC, fields

ROUNDS: Final = 50
"""A process that runs may start others while it is looked for; one that is faster than this is a fork bomb."""

STILL: Final = (b"T", b"t", b"Z", b"X")
"""States of a process that does nothing: stopped by somebody, or ended."""


START: Final = 17
"""Which of the fields behind the parent is the time of the start."""


class Stopped(Struct, frozen=True):
    """A process that was stopped here. Its start tells it apart from a later one with the same number."""

    pid: int
    since: bytes


class _Seen(Struct, frozen=True):
    pid: int
    parent: int
    state: bytes
    since: bytes


def stop_all(is_meant: Callable[[int], bool]) -> frozenset[Stopped]:
    """Stop these processes and their descendants, until none of them runs. Return those that were not still before."""
    tried: set[Stopped] = set()
    stopped: set[Stopped] = set()
    for _ in range(ROUNDS):
        running = {Stopped(each.pid, each.since) for each in _family(is_meant) if each.state not in STILL}
        if running <= tried:
            break
        stopped.update(each for each in running - tried if _told(each.pid, signal.SIGSTOP))
        tried |= running
    return frozenset(stopped)


def let_go_on(stopped: frozenset[Stopped]) -> None:
    """Let processes go on that `stop_all` has stopped."""
    _tell_all(stopped, signal.SIGCONT)


def end_stopped(stopped: frozenset[Stopped]) -> None:
    """Let processes that `stop_all` has stopped never go on."""
    _tell_all(stopped, signal.SIGKILL)


def _tell_all(stopped: frozenset[Stopped], number: int) -> None:
    for each in stopped:
        found = _seen(str(each.pid))
        if found is not None and found.since == each.since:
            _told(each.pid, number)


def _family(is_meant: Callable[[int], bool]) -> list[_Seen]:
    """These processes and all that descend from them."""
    children: dict[int, list[_Seen]] = {}
    for found in _all():
        children.setdefault(found.parent, []).append(found)
    waiting = [found for siblings in children.values() for found in siblings if is_meant(found.pid)]
    family: dict[int, _Seen] = {}
    while waiting:
        found = waiting.pop()
        if found.pid not in family:
            family[found.pid] = found
            waiting += children.get(found.pid, [])
    return [*family.values()]


def _all() -> Iterator[_Seen]:
    with contextlib.suppress(OSError):
        yield from filter(None, (_seen(name) for name in os.listdir(PROC) if name.isdecimal()))


def _seen(pid: str) -> _Seen | None:
    state, parent, *more = fields(pid)
    return _Seen(int(pid), int(parent), state, more[START]) if more else None


def _told(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False  # it has ended, or is another user's
    return True
