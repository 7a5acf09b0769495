"""`audit.jsonl`: every call and its outcome, one line each, appended by every server of the state folder.

A thread writes entries as they come, all that are waiting at once, and syncs the file when no entry has come for a
moment. A call is answered when its entry is in the file (`written`), so the entry is there even if the server is killed
right after the answer. Only a loss of power can lose the last lines.
At 10 MiB the file is renamed to `audit.jsonl.1`, and so on. If the disk cannot be written, lines are lost, with a
warning; calls are answered all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from codex_mcp.base.files import is_named, make_private_folder, open_regular, opened, rotate
from codex_mcp.base.futures import resolve
from codex_mcp.base.locks import flocked
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.team.records.audit_entry import AuditEntry, AuditOutcome, entry_in, line_of, without_tails

logger = logging.getLogger(__name__)

FILE: Final = "audit.jsonl"

LONGEST: Final = 64 * 1024 * 1024
"""Bytes that are read of one file. It is full at MAX_BYTES, but a server that cannot lock it goes on."""

MAX_BYTES: Final = 10 * 1024 * 1024
"""About 40,000 entries; any editor can open that."""

FILES: Final = 5
"""The current file and four older ones: 50 MiB at most, which is months of a busy team."""

MAX_WAITING: Final = 10_000
"""Entries that may wait for the disk. If more wait, the disk is stuck; new entries are then dropped and counted."""

QUIET: Final = 0.1
"""Seconds without an entry after which the file is synced, so that no entry waits for a sync."""

SYNC_INTERVAL: Final = 1.0
"""Seconds after which the file is synced in any case."""

LOCK_PATIENCE: Final = 0.5
"""Seconds to wait for the lock, which other servers hold for one write. Without it we append all the same, but do not
rotate the file."""

WRITE_PATIENCE: Final = 2.0
"""Seconds that an answer waits for its entry. If the disk needs longer, it is stuck, and calls do not wait for it."""

CLOSE_PATIENCE: Final = 5.0
"""Seconds to write the last entries. If the disk needs longer, it is stuck, and the server ends without them."""

END_BYTES: Final = 512 * 1024
"""The end of the file that shows what happened lately: about 2,000 entries."""

NEWLINE: Final = b"\n"


class Audit:
    """Appends to the audit of one state folder. After `close()`, entries are dropped."""

    def __init__(self, state_dir: str, *, max_bytes: int = MAX_BYTES) -> None:
        self._folder = state_dir
        self._path = os.path.join(state_dir, FILE)
        self._max_bytes = max_bytes
        self._waiting: deque[AuditEntry] = deque()
        self._kept: list[bytes] = []
        self._dropped = 0
        self._appended = 0
        """How many entries have come; `_handled` of them are in the file, or could not be written."""
        self._handled = 0
        self._stuck_at: int | None = None
        self._waiters: list[tuple[int, asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._unsynced_since: float | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._complained = False

    def append(self, entry: AuditEntry) -> None:
        with self._changed:
            if self._ending.is_set() or len(self._waiting) + len(self._kept) >= MAX_WAITING:
                self._dropped += 1
                return
            self._waiting.append(without_tails(entry))
            self._appended += 1
            if self._thread is None:
                # A daemon thread, so that a stuck disk cannot keep the server from ending. close() waits for it.
                self._thread = threading.Thread(target=self._write_on, name="audit", daemon=True)
                self._thread.start()
            self._changed.notify()

    async def flush(self) -> None:
        """Wait until all entries so far are in the file, unless the disk fails or is stuck."""
        with self._changed:
            if self._handled >= self._appended or self._handled == self._stuck_at:
                return
            loop = asyncio.get_running_loop()
            told: asyncio.Future[None] = loop.create_future()
            self._waiters.append((self._appended, loop, told))
        await asyncio.wait([told], timeout=WRITE_PATIENCE)
        if not told.done():
            self._stuck_at = self._handled  # no other call waits until the disk works again

    def close(self) -> None:
        """Write what is left, and end the thread. Blocks. May be called twice."""
        with self._changed:
            self._ending.set()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(CLOSE_PATIENCE)
        with self._changed:
            lost, self._dropped = self._dropped + len(self._waiting) + len(self._kept), 0
            self._waiting.clear()
            self._kept.clear()
        if lost:
            logger.warning("%s entries of the audit %s were lost", lost, self._path)

    def _write_on(self) -> None:
        last = False
        while not last:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ending.is_set(), self._until_sync())
                last = self._ending.is_set()
                entries, dropped, appended = list(self._waiting), self._dropped, self._appended
                self._waiting.clear()
                self._dropped = 0
            if entries or dropped or last:
                lines = [*self._kept, *map(line_of, entries), *([_dropped_line(dropped)] if dropped else [])]
                # Lines that could not be written are tried again with the next entry: the disk may have room by then.
                self._kept = lines[self._write(lines) :]
                self._tell(appended)
            if last or not entries or self._until_sync() == 0:
                self._sync()

    def _until_sync(self) -> float | None:
        """Seconds until the file must be synced if no entry comes; None if it is synced."""
        if self._unsynced_since is None:
            return None
        return min(QUIET, max(0.0, self._unsynced_since + SYNC_INTERVAL - time.monotonic()))

    def _tell(self, handled: int) -> None:
        with self._changed:
            self._handled = handled
            done = [waiter for waiter in self._waiters if waiter[0] <= handled]
            self._waiters = [waiter for waiter in self._waiters if waiter[0] > handled]
        for _, loop, told in done:
            with contextlib.suppress(RuntimeError):  # its loop is closed: no caller is left
                loop.call_soon_threadsafe(resolve, told, None)

    def _sync(self) -> None:
        if self._unsynced_since is None:
            return
        self._unsynced_since = None
        try:
            descriptor = open_regular(self._path)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._complain(error)

    def _write(self, lines: list[bytes]) -> int:
        done = 0
        try:
            while done < len(lines):
                done += self._append_some(lines[done:])
        except OSError as error:
            self._complain(error)
        else:
            self._complained = False
        return done

    def _append_some(self, lines: list[bytes]) -> int:
        """Append the lines that fit into the current file, at least one. Returns how many."""
        while True:
            make_private_folder(self._folder)
            descriptor = open_regular(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                with _flocked_if_possible(descriptor) as held:
                    if held and not is_named(descriptor, self._path):
                        continue  # another server has just rotated it
                    length = os.fstat(descriptor).st_size
                    if held and length >= self._max_bytes:
                        os.fsync(descriptor)
                        rotate(self._path, FILES - 1)
                        continue
                    done = _append_to(descriptor, lines, self._max_bytes - length)
                if self._unsynced_since is None:
                    self._unsynced_since = time.monotonic()
                return done
            finally:
                os.close(descriptor)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            logger.warning("cannot write the audit %s: %s; entries wait in memory", self._path, error.strerror or error)


def read_audit(
    state_dir: str, *, identity: str | None = None, codex_id: str | None = None, limit: int = 100
) -> list[AuditEntry]:
    """The latest entries, oldest first, optionally of one identity or agent only. Raises OSError."""
    found: list[AuditEntry] = []
    if limit <= 0:
        return found
    for entry in _newest_first(os.path.join(state_dir, FILE)):
        if identity in (None, entry.identity) and codex_id in (None, entry.codex_id):
            found.append(entry)
            if len(found) >= limit:
                break
    return found[::-1]


def newest_entries(
    state_dir: str, is_wanted: Callable[[AuditEntry], bool], limit: int, *, only_end: bool = False
) -> list[AuditEntry]:
    """The latest entries that are wanted, the latest first; `only_end`: of the end of the file. Raises OSError."""
    path = os.path.join(state_dir, FILE)
    entries = _at_the_end(path) if only_end else _newest_first(path)
    return list(itertools.islice((entry for entry in entries if is_wanted(entry)), limit))


def _at_the_end(path: str) -> Iterator[AuditEntry]:
    with opened(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - END_BYTES))
        lines = file.read(END_BYTES).split(NEWLINE)
    yield from filter(None, map(entry_in, reversed(lines)))


def _newest_first(path: str) -> Iterator[AuditEntry]:
    seen: set[tuple[int, int]] = set()
    # From new to old: a file that is rotated while we read appears again under its next name, and none is missed.
    for number in range(FILES):
        try:
            with opened(f"{path}.{number}" if number else path) as file:
                status = os.fstat(file.fileno())
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                lines = file.read(LONGEST).split(NEWLINE)
        except FileNotFoundError:
            continue
        for line in reversed(lines):
            entry = entry_in(line)
            if entry is not None:
                yield entry


@contextlib.contextmanager
def _flocked_if_possible(descriptor: int) -> Iterator[bool]:
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(flocked(descriptor, LOCK_PATIENCE))
            held = True
        except TimeoutError:
            held = False
        yield held


def _append_to(descriptor: int, lines: list[bytes], room: int) -> int:
    """Append the lines for which there is room, at least one. Returns how many were written completely."""
    length = os.fstat(descriptor).st_size
    is_torn = length > 0 and os.pread(descriptor, 1, length - 1) != NEWLINE
    taken = [lines[0]]
    size = len(lines[0])
    for line in lines[1:]:
        size += len(line)
        if size > room:
            break
        taken.append(line)
    data = (NEWLINE if is_torn else b"") + b"".join(taken)
    written = os.write(descriptor, data)  # one write, so that lines of several servers do not mix
    if written == len(data):
        return len(taken)
    whole = data[is_torn:written].count(NEWLINE)
    if whole == 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return whole


def _dropped_line(count: int) -> bytes:
    text = f"{count} entries were dropped: the disk did not keep up"
    now = format_timestamp(time.time())
    return line_of(AuditEntry(timestamp=now, event="audit_dropped", outcome=AuditOutcome.FAILED, error=text))
