"""Programs of PATH that run outside of every sandbox: none from a folder in which agents work.

A PATH often names folders of a project: `.venv/bin` once it is activated, `node_modules/.bin`, those of direnv. Agents
that work in the project can write programs there. So what we run ourselves is taken from the other folders of PATH.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Final

from codex_mcp.base.git import is_repository_root

PROGRAM: Final = "codex-mcp"

OURSELVES: Final = (sys.executable, "-P", "-m", "codex_mcp")
"""Starts this program. Without -P, Python first looks for it in the working folder, where repositories and agents have
their files."""


def places(search_path: str, work: str | None = None) -> list[str]:
    """The absolute folders of a PATH that are neither in our own folder nor in `work`, where a program is to run.

    A folder in a checkout stands for all of it. One around the user's home does not count: it has too many programs.
    """
    closed = _closed(work)
    return [
        place
        for place in _absolute(search_path)
        if not any(_is_in(os.path.realpath(place), folder) for folder in closed)
    ]


def find(name: str, folders: list[str]) -> str | None:
    """The first program of this name."""
    return next(filter(is_program, (os.path.join(folder, name) for folder in folders)), None)


def on_path(word: str, search_path: str) -> str | None:
    """The program that this word of a command line starts: a path, or a name in an absolute folder of a PATH."""
    if os.sep in word:
        return word if is_program(word) else None
    return find(word, _absolute(search_path))


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def own_path(started: str | None = None) -> str | None:
    """The path of this program, as it was started or else beside its Python."""
    beside_python = os.path.join(os.path.dirname(sys.executable), PROGRAM)
    for path in (os.path.abspath(started or sys.argv[0]), beside_python):
        if os.path.basename(path) == PROGRAM and is_program(path):
            return path
    return None


def our_path(search_path: str) -> str:
    """The same, or the words that start it."""
    return own_path() or on_path(PROGRAM, search_path) or " ".join(OURSELVES)


def our_command(search_path: str | None = None) -> str:
    """What a person types to run this program: its name, or its path if the PATH of this process does not have it."""
    folders = os.pathsep.join(os.get_exec_path()) if search_path is None else search_path
    return our_path(folders) if on_path(PROGRAM, folders) is None else PROGRAM


def for_person(text: str) -> str:
    """A text with commands of ours in backquotes, in the form in which its reader can run them here."""
    return text.replace(f"`{PROGRAM} ", f"`{our_command()} ").replace(f"| {PROGRAM} ", f"| {our_command()} ")


def _absolute(search_path: str) -> list[str]:
    return [place for place in search_path.split(os.pathsep) if os.path.isabs(place)]


def _closed(work: str | None) -> set[str]:
    home = os.path.realpath(os.path.expanduser("~"))
    try:
        folders = [os.getcwd(), *([] if work is None else [work])]
    except FileNotFoundError:  # our own folder was removed
        folders = [] if work is None else [work]
    roots = {root for folder in folders for root in _roots(os.path.realpath(folder))}
    return {root for root in roots if not _is_in(home, root)}


def _roots(folder: str) -> Iterator[str]:
    """The folder, and those around it that are checkouts. No file is read: an agent may have written it."""
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        if is_repository_root(folder):
            yield folder
        folder = parent


def _is_in(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder
