"""Reads the prompts of a folder. A file that cannot be read is skipped and logged; it never hides others."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import Final, TypeAlias

from codex_mcp.base.files import read_beginning
from codex_mcp.mcp.prompts.template import Prompt, parsed

logger = logging.getLogger(__name__)

MAX_FILES: Final = 500
"""Prompts of one folder, the first by name. More than anyone chooses from."""

MAX_BYTES: Final = 256 * 1024
"""The longest prompt. Codex refuses a prompt of more than 1 Mi characters, and arguments are added to it."""

MAX_FOLDER_BYTES: Final = 8 * 1024 * 1024
"""All prompts of one folder together, because a list reads all of them. Those beyond it are skipped."""

MAX_NAME: Final = 128
"""The longest name of a prompt, in characters."""

SUFFIX: Final = ".md"

Mark: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""The names, times, sizes and numbers of the files in a folder: another mark means that a prompt has changed."""


def prompts_in(folder: str) -> list[Prompt]:
    """The prompts of this folder. Blocks."""
    found: list[Prompt] = []
    room = MAX_FOLDER_BYTES
    for entry in _files(folder):
        name = entry.name.removesuffix(SUFFIX)
        try:
            data = _read(entry.path, room)
            room -= len(data)
            found.append(parsed(name, _text(data)))
        except (OSError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
            logger.warning("skipped the prompt %s: %s", entry.path, why)
    return found


def mark_of(folder: str) -> Mark:
    """What tells whether the folder's prompts have changed. Blocks."""
    marks: list[tuple[str, int, int, int]] = []
    for entry in _files(folder):
        with contextlib.suppress(OSError):
            status = entry.stat()
            marks.append((entry.name, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(marks)


def _files(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(_fitting(folder, entries), key=lambda entry: entry.name)[:MAX_FILES]
    except OSError:  # most homes and projects have no such folder
        return []


def _fitting(folder: str, entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    inside = os.path.realpath(folder) + os.sep
    for entry in entries:
        name = entry.name.removesuffix(SUFFIX)
        if name == entry.name or not 0 < len(name) <= MAX_NAME or not name.isprintable() or name.startswith("."):
            continue
        if not os.path.realpath(entry.path).startswith(inside):
            continue  # a link to a file that is none of the prompts
        yield entry


def _read(path: str, room: int) -> bytes:
    data = read_beginning(os.path.realpath(path), MAX_BYTES + 1, links=False)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes; shorten it, or name a file that the agent is to read")
    if len(data) > room:
        raise ValueError(f"the prompts of its folder have more than {MAX_FOLDER_BYTES} bytes; remove some")
    return data


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        raise ValueError("it is not in UTF-8") from exc
