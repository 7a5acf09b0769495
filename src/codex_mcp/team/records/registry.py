"""`registry.json`: the agents of a state folder, for people and tools. A copy of what is in the store.

Several servers may share the folder, and each writes all agents. So that older contents never replace newer ones, a
server draws a revision number before it reads the store, and does not write if the file has a higher one: the file was
then made from a later read of the store, and contains every change that this server would write.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Final

from codex_mcp.base.files import make_private_folder, read_regular, remove_drafts, write_whole
from codex_mcp.base.locks import locked
from codex_mcp.team.agent import Agent
from codex_mcp.team.records.registry_text import Registry, entry_text, parse_registry, registry_text, revision_of

logger = logging.getLogger(__name__)

FILE: Final = "registry.json"
LOCK: Final = "registry.lock"

LONGEST: Final = 256 * 1024 * 1024
"""Bytes of a registry: some hundred thousand agents."""

PATIENCE: Final = 5.0
"""Seconds to wait for the lock. It is held for two fsyncs; a disk that needs longer is broken or overloaded."""

DIGITS: Final = 20
"""Digits of the last revision drawn, in the lock file; always the same number, so that one write replaces it."""


class RegistryFile:
    """Writes the registry of one state folder. Its methods block: call them on a thread."""

    def __init__(self, state_dir: str) -> None:
        self._folder = state_dir
        self._path = os.path.join(state_dir, FILE)
        self._tidy = False
        self._known: tuple[tuple[int, ...], int] | None = None
        """What the file looked like when its revision was last known, and that revision."""
        self._entries: dict[str, tuple[Agent, bytes]] = {}
        """The lines of each agent in the last contents: those of an agent that has not changed are not made again."""

    def next_revision(self) -> int:
        """Draw a revision number. Read the agents from the store after this, not before. Raises OSError."""
        with self._locked() as lock:
            # Both: after a loss of power the lock file may hold an older number than the synced registry.
            number = 1 + max(_number_in(lock), self._revision())
            os.pwrite(lock, b"%0*d\n" % (DIGITS, number), 0)
            return number

    def write(self, agents: Iterable[Agent], revision: int) -> bool:
        """Replace the file, unless its revision is higher. Returns whether it did. Raises OSError."""
        with self._locked():
            if self._revision() >= revision:
                return False
            write_whole(self._path, self._text(agents, revision))
            self._known = _look_of(self._path), revision
            return True

    def _text(self, agents: Iterable[Agent], revision: int) -> bytes:
        before, self._entries = self._entries, {}

        def entry(agent: Agent) -> bytes:
            known = before.get(agent.codex_id)
            text = entry_text(agent) if known is None or known[0] is not agent else known[1]
            self._entries[agent.codex_id] = agent, text
            return text

        return registry_text(agents, revision, time.time(), entry)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        make_private_folder(self._folder)
        with locked(os.path.join(self._folder, LOCK), PATIENCE) as lock:
            if not self._tidy:  # no other server writes now, so every draft was left by one that died
                remove_drafts(self._path)
                self._tidy = True
            yield lock

    def _revision(self) -> int:
        """Under the lock. Every writer makes a new file, so one that looks as before is as before."""
        look = _look_of(self._path)
        if self._known is None or self._known[0] != look:
            self._known = look, self._read_revision()
        return self._known[1]

    def _read_revision(self) -> int:
        try:
            data = _contents(self._path)
            return 0 if data is None else revision_of(data)
        except ValueError as error:
            _rename_broken(self._path, error)
            return 0


def _look_of(path: str) -> tuple[int, ...]:
    """What differs between two files at this path; empty if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _number_in(lock: int) -> int:
    """The last revision drawn; 0 in a new file, and in one whose contents a loss of power has destroyed."""
    text = os.pread(lock, DIGITS + 1, 0).strip()
    return int(text) if text.isdigit() else 0


def read_registry(path: str) -> list[Agent]:
    """The agents in a registry of version 1 or 2. A file that is not a registry is renamed, with a warning.

    Raises nothing: a server must start, and the CLI must answer, whatever the file contains.
    """
    try:
        registry = _registry_in(path)
    except OSError as error:
        logger.warning("cannot read %s, continuing without it: %s", path, error.strerror or error)
        return []
    for warning in registry.warnings:
        logger.warning("%s: %s", path, warning)
    return list(registry.agents)


def _registry_in(path: str) -> Registry:
    try:
        return _parsed(path)
    except ValueError:
        with locked(os.path.join(os.path.dirname(path), LOCK), PATIENCE):
            try:
                return _parsed(path)  # a server may have replaced it meanwhile
            except ValueError as error:
                _rename_broken(path, error)
        return Registry(0, ())


def _parsed(path: str) -> Registry:
    data = _contents(path)
    return Registry(0, ()) if data is None else parse_registry(data)


def _contents(path: str) -> bytes | None:
    """The contents, if there is such a file. Raises OSError; ValueError for a pipe, a device or a folder."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError("it is not a regular file")
        return read_regular(path, LONGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _rename_broken(path: str, error: ValueError) -> None:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = f"{path}.broken-{stamp}"
    try:
        os.replace(path, aside)
    except OSError as trouble:
        logger.warning("%s is not a registry (%s), and cannot be renamed: %s", path, error, trouble.strerror or trouble)
    else:
        logger.warning("%s is not a registry (%s); it was renamed to %s", path, error, aside)
