"""Finds and reads the rollout file of a thread that no server runs. Blocks. No Codex is started."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from codex_mcp.base.files import opened, short_lines
from codex_mcp.dashboard.thread.kept import kept_steps
from codex_mcp.wire.control_thread import ListSteps, Steps

FOLDERS: Final = ("sessions", "archived_sessions")

ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
NAME: Final = r"rollout-.{{0,40}}-{}(_[0-9a-f-]+)?\.jsonl"
"""After a rollback it has another id behind that of the thread."""

LONGEST_LINE: Final = 4 * 1024 * 1024
LONGEST: Final = 256 * 1024 * 1024
"""Bytes of a file that are read."""

MOST_NAMES: Final = 20_000
"""In a folder of one day."""

MOST_STEPS: Final = 400


def steps_on_disk(home: str, asked: ListSteps) -> Steps | None:
    """What Codex has kept of a thread in this home; None if there is no file of it that can be read here."""
    path = find_rollout(home, asked.thread)
    if path is None:
        return None
    try:
        with opened(path, links=False) as file:
            return kept_steps(short_lines(file, LONGEST_LINE, LONGEST), asked, MOST_STEPS)
    except OSError:
        return None


def find_rollout(home: str, thread_id: str) -> str | None:
    """The newest file of the thread. Its id begins with its time, and the folders are named by days."""
    if ID.fullmatch(thread_id) is None:
        return None
    pattern = re.compile(NAME.format(re.escape(thread_id)))
    found = [
        os.path.join(folder, name)
        for folder in _folders(home, thread_id)
        for name in _names(folder)
        if pattern.fullmatch(name)
    ]
    return max(found, key=_changed_at, default=None)


def _folders(home: str, thread_id: str) -> Iterator[str]:
    born = datetime.fromtimestamp(int(thread_id.replace("-", "")[:12], 16) / 1000, UTC)
    days = [born + timedelta(days=each) for each in (-1, 0, 1)]  # the folders are named in local time
    for day in days:
        yield os.path.join(home, FOLDERS[0], f"{day:%Y}", f"{day:%m}", f"{day:%d}")
    yield os.path.join(home, FOLDERS[1])


def _names(folder: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= MOST_NAMES:
                return
            yield entry.name


def _changed_at(path: str) -> float:
    with contextlib.suppress(OSError):
        return os.stat(path, follow_symlinks=False).st_mtime
    return 0.0
