"""Reads what the git folder of an agent says. The agent may write everything in it, at any time. Blocks.

So nothing in it is believed: no link is followed, only regular files are read, of a limited size and number; an id is
hexadecimal, and a name is one that git would accept. git itself never runs with this folder as its own.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from codex_mcp.git.worktree import OPERATIONS

LONGEST_REF: Final = 1024
"""Bytes of a file with one id, or with the name of a branch."""

LONGEST_LIST: Final = 16 * 1024 * 1024
"""Bytes of the list of packed references: some hundred thousand."""

LONGEST_LOG: Final = 256 * 1024
"""Bytes of a log that are read, from its end."""

MOST_REFS: Final = 5000
"""Files below `refs/`, and folders."""

MOST_OBJECTS: Final = 500_000
"""Files below `objects/`, and folders. git packs them long before."""

ALTERNATES: Final = "objects/info/alternates"
"""Names further folders with objects, which git reads as well."""

DEEPEST: Final = 10
"""Folders below `refs/`."""

LOGS: Final = ("logs/HEAD", "logs/refs/stash")
"""The commits in these may be on no branch."""

_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BAD: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[./-]|[./]$")

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Told(Struct, frozen=True):
    ref: str | None
    """The full name of the branch that is checked out; None if none is, or it cannot be read."""
    commit: str | None
    """The commit that is checked out; None if it cannot be read."""
    refs: dict[str, str]
    visited: tuple[str, ...]
    """Commits of its logs, newest first."""
    operation: str | None = None
    """What is unfinished, such as a merge."""


def is_ref(name: str) -> bool:
    """Whether git accepts this as the full name of a reference."""
    return name.startswith("refs/") and len(name) < LONGEST_REF and _BAD.search(name) is None


def told_in(git: str) -> Told:
    """What is in the git folder at this path, which itself cannot be replaced. Raises OSError if it is missing."""
    here = os.open(git, _FOLDER)
    try:
        refs = _refs(here)
        head = _read(here, "HEAD", LONGEST_REF) or b""
        ref = _name(head.removeprefix(b"ref:").strip()) if head.startswith(b"ref:") else None
        commit = refs.get(ref) if ref is not None else _id(head.strip())
        visited = [commit for name in LOGS for commit in _logged(here, name)]
        operation = next((word for name, word in OPERATIONS.items() if _is_there(here, name)), None)
        return Told(ref, commit, refs, tuple(dict.fromkeys(visited)), operation)
    finally:
        os.close(here)


def logged_in(git: str, ref: str) -> list[str]:
    """The commits in the log of a reference, newest first."""
    try:
        here = os.open(git, _FOLDER)
    except OSError:
        return []
    try:
        return _logged(here, f"logs/{ref}") if is_ref(ref) else []
    finally:
        os.close(here)


def unsafe_object(git: str, alternates: bytes) -> str | None:
    """What git must not read among the objects of this git folder, as a path in it; None if there is nothing.

    git would wait for ever for a pipe, and follow links and other `alternates` than these.
    """
    try:
        here = os.open(git, _FOLDER)
    except OSError:
        return None
    try:
        if _is_there(here, ALTERNATES) and _read(here, ALTERNATES, len(alternates)) != alternates:
            return ALTERNATES
        with _folder(here, "objects") as folder:
            if folder is None:
                return "objects" if _is_there(here, "objects") else None
            return _irregular(folder, "objects", [MOST_OBJECTS], DEEPEST)
    finally:
        os.close(here)


def _irregular(folder: int, path: str, left: list[int], depth: int) -> str | None:
    """The first entry that is neither a file nor a folder, or that is one too many."""
    with os.scandir(folder) as entries:
        for entry in entries:
            left[0] -= 1
            if left[0] < 0:
                return path
            if entry.is_dir(follow_symlinks=False):
                if not depth:
                    return f"{path}/{entry.name}"
                with _folder(folder, entry.name) as below:
                    found = None if below is None else _irregular(below, f"{path}/{entry.name}", left, depth - 1)
                if found is not None:
                    return found
            elif not entry.is_file(follow_symlinks=False):
                return f"{path}/{entry.name}"
    return None


def _refs(here: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in (_read(here, "packed-refs", LONGEST_LIST) or b"").splitlines():
        commit, _, packed = line.partition(b" ")
        if (known := _id(commit)) and (ref := _name(packed.strip())):
            found[ref] = known
    with _folder(here, "refs") as folder:
        if folder is not None:
            for name in _files(folder, "refs", [MOST_REFS], DEEPEST):
                if (known := _id((_read(here, name, LONGEST_REF) or b"").strip())) and is_ref(name):
                    found[name] = known
    return found


def _files(folder: int, path: str, left: list[int], depth: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            left[0] -= 1
            if left[0] < 0 or not depth:
                return
            if entry.is_file(follow_symlinks=False):
                yield f"{path}/{entry.name}"
            elif entry.is_dir(follow_symlinks=False):
                with _folder(folder, entry.name) as below:
                    if below is not None:
                        yield from _files(below, f"{path}/{entry.name}", left, depth - 1)


def _logged(here: int, name: str) -> list[str]:
    lines = (_read(here, name, LONGEST_LOG, from_end=True) or b"").splitlines()
    entries = [words[1] for line in reversed(lines) if len(words := line.split(b" ", 2)) > 1]
    return [known for entry in entries if (known := _id(entry)) and known.strip("0")]


def _id(text: bytes) -> str | None:
    return text.decode() if _ID.fullmatch(text) else None


def _name(text: bytes) -> str | None:
    try:
        name = text.decode()
    except UnicodeDecodeError:
        return None
    return name if is_ref(name) else None


def _is_there(here: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        os.stat(name, dir_fd=here, follow_symlinks=False)
        return True
    return False


@contextlib.contextmanager
def _folder(here: int, path: str) -> Iterator[int | None]:
    """A folder below another one, reached through no link; None if there is none."""
    opened: list[int] = []
    try:
        for name in path.split("/"):
            opened.append(os.open(name, _FOLDER, dir_fd=opened[-1] if opened else here))
        yield opened[-1]
    except OSError:
        if len(opened) == path.count("/") + 1:
            raise
        yield None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _read(here: int, path: str, limit: int, *, from_end: bool = False) -> bytes | None:
    """At most so many bytes of a regular file; None if there is none, it is a link, or it is longer."""
    parent, _, name = path.rpartition("/")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_folder(here, parent)) if parent else here
        if folder is None:
            return None
        try:
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except OSError:
            return None
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or (found.st_size > limit and not from_end):
            os.close(descriptor)  # `open` would refuse the descriptor of a folder, and leave it open
            return None
        with open(descriptor, "rb") as file:
            file.seek(max(0, found.st_size - limit))
            return file.read(limit)
