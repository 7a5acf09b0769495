"""Tells which inboxes or configurations have changed: at once by file watching, and every five seconds by looking.

The folder of the teams may be missing, disappear and come back: then the nearest folder above it is watched. Where
files cannot be watched (too many watches, some network file systems), looking is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from codex_mcp.base.blocking import in_own_thread, in_thread
from codex_mcp.mail.address import Address
from codex_mcp.mail.files.layout import Layout

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

logger = logging.getLogger(__name__)

POLL: Final = 5.0
"""Seconds between two looks without an event."""

STEP: Final = 15
"""Milliseconds between two looks at the queue of events, and of silence after which they are reported together."""

DEBOUNCE: Final = 50
"""Milliseconds after which events are reported even if more of them come."""

Signature = tuple[int, ...]

Wanted = Callable[[], Collection[Address]]


async def changes(layout: Layout, wanted: Wanted, poll: float = POLL) -> AsyncGenerator[frozenset[Address]]:
    """The inboxes that have changed since the last look, endlessly. `wanted` says which ones matter, at each look.

    First come all that exist: their mail may have waited. Files are compared, so nothing is missed, whatever wakes us.
    """
    seen: dict[Address, Signature] = {}
    async with contextlib.aclosing(_wakings(layout, wanted, poll)) as wakings:
        async for _ in wakings:
            found = await in_thread(_signatures, layout, frozenset(wanted()))
            changed = frozenset(address for address, signature in found.items() if seen.get(address) != signature)
            seen = found
            if changed:
                yield changed


async def config_changes(layout: Layout, team: str, poll: float = POLL) -> AsyncGenerator[None]:
    """Yields at the first look, and when a team's `config.json` has come, changed or gone."""
    folder, seen = Address("", team), None
    async with contextlib.aclosing(_wakings(layout, lambda: [folder], poll)) as wakings:
        async for _ in wakings:
            found = await in_thread(_signature, layout.config(team))
            if found != seen:
                seen = found
                yield


async def _wakings(layout: Layout, wanted: Wanted, poll: float) -> AsyncGenerator[None]:
    """Yields when something may have changed.

    The watch begins again when a folder appears or is replaced, and every watch begins with a look: a file in a new
    folder cannot be missed.
    """
    while True:
        folders = await in_thread(_folders, layout, frozenset(wanted()))
        async with contextlib.aclosing(_events(sorted(folders), poll)) as events:
            async for touched in events:
                # A folder that was removed and made again may look the same, but its watch is gone.
                if touched & folders.keys() or await in_thread(_folders, layout, frozenset(wanted())) != folders:
                    break
                yield


async def _events(folders: Sequence[str], poll: float) -> AsyncGenerator[frozenset[str]]:
    """Yields when the watch has begun, at every event, and every `poll` seconds: the paths that were touched.

    Without a watch it ends after one look.
    """
    # Only a server or a command that watches pays for this import.
    from watchfiles._rust_notify import RustNotify  # noqa: PLC0415

    try:
        watch = await in_thread(RustNotify, list(folders), False, False, 0, False, True)  # noqa: FBT003
    except FileNotFoundError:
        yield frozenset(folders)  # one of them has just gone
        return
    except (OSError, RuntimeError) as error:
        logger.warning("cannot watch %s (%s): looking every %g s instead", ", ".join(folders), error, poll)
        yield frozenset()
        await asyncio.sleep(poll)
        return
    try:
        yield frozenset()
        while True:
            yield await _event(watch, poll)
    finally:
        watch.close()


async def _event(watch: RustNotify, poll: float) -> frozenset[str]:
    ending = threading.Event()
    waiting = in_own_thread(watch.watch, DEBOUNCE, STEP, round(poll * 1000), ending)
    try:
        found = await asyncio.shield(waiting)
    except asyncio.CancelledError:
        ending.set()
        await asyncio.wait([waiting])  # it ends within a step, and until then the watch cannot be closed
        raise
    return frozenset() if isinstance(found, str) else frozenset(path for _, path in found)


def _folders(layout: Layout, addresses: Collection[Address]) -> dict[str, Signature]:
    """The folders to watch, and which ones they are: those on the way to the inboxes, or the nearest above them."""
    teams = {address.team for address in addresses}
    wanted = [layout.teams_dir, *(os.path.dirname(layout.inboxes(team)) for team in teams), *map(layout.inboxes, teams)]
    found: dict[str, Signature] = {}
    for folder in map(_nearest, wanted):
        with contextlib.suppress(OSError):
            status = os.stat(folder)
            found[folder] = (status.st_dev, status.st_ino)
    return found


def _nearest(folder: str) -> str:
    """The folder, or the nearest one above it that exists."""
    while not os.path.isdir(folder) and (parent := os.path.dirname(folder)) != folder:
        folder = parent
    return folder


def _signatures(layout: Layout, addresses: Collection[Address]) -> dict[Address, Signature]:
    found = {address: _signature(layout.inbox(address)) for address in addresses}
    return {address: signature for address, signature in found.items() if signature}


def _signature(path: str) -> Signature:
    """What changes with a file; empty if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return (status.st_ino, status.st_size, status.st_mtime_ns)
