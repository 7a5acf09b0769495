"""`registry.json`: who is in the team, for people and tools. The store holds the truth, and this is a picture of it.

Several servers may share the folder, and each paints all agents. So that an older picture never replaces a newer one,
whoever wants to write draws a number before reading the store, and a picture with a lower number than the file's is
not needed: the file's was painted from a later look, and so has every change that this one has.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Final

from codex_mcp.base.files import PRIVATE, make_private_folder, open_regular, remove_drafts, write_whole
from codex_mcp.base.locks import flocked
from codex_mcp.team.agent import Agent
from codex_mcp.team.records.registry_text import Registry, parse_registry, registry_text, revision_of

logger = logging.getLogger(__name__)

FILE: Final = "registry.json"
LOCK: Final = "registry.lock"

PATIENCE: Final = 5.0
"""Seconds for the lock. Holding it takes two fsyncs; a disk that needs longer is in trouble, and so is the holder."""

DIGITS: Final = 20
"""Room for the last number drawn, which is kept in the lock file; always as many, so that one write replaces it."""


class RegistryFile:
    """Writes the registry of one state folder. Its methods wait for locks and disks: call them on a thread."""

    def __init__(self, state_dir: str) -> None:
        self._folder = state_dir
        self._path = os.path.join(state_dir, FILE)
        self._tidy = False

    def next_revision(self) -> int:
        """Draw a number. Read the agents from the store after this, and not before. Raises OSError."""
        with self._locked() as lock:
            # Both, because after a loss of power the lock file may hold an older number than the synced registry.
            number = 1 + max(_number_in(lock), self._revision())
            os.pwrite(lock, b"%0*d\n" % (DIGITS, number), 0)
            return number

    def write(self, agents: Iterable[Agent], revision: int) -> bool:
        """Replace the file, unless it shows a later look at the store. Says whether it did. Raises OSError."""
        with self._locked():
            if self._revision() >= revision:
                return False
            write_whole(self._path, registry_text(agents, revision, time.time()))
            return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        make_private_folder(self._folder)
        with _locked(self._folder) as lock:
            if not self._tidy:  # nobody else writes now, so that every draft is of somebody who died
                remove_drafts(self._path)
                self._tidy = True
            yield lock

    def _revision(self) -> int:
        try:
            data = _contents(self._path)
            return 0 if data is None else revision_of(data)
        except ValueError as error:
            _set_aside(self._path, error)
            return 0


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[int]:
    lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        with flocked(lock, PATIENCE):
            yield lock
    finally:
        os.close(lock)


def _number_in(lock: int) -> int:
    """The last number drawn; 0 in a new file, and in one that lost its contents when the machine lost its power."""
    text = os.pread(lock, DIGITS + 1, 0).strip()
    return int(text) if text.isdigit() else 0


def read_registry(path: str) -> list[Agent]:
    """The agents in a registry of version 1 or 2. A file that is none is set aside with a warning; there are then none.

    Never an error: a server must start, and the CLI must answer, whatever the file holds.
    """
    try:
        registry = _registry_in(path)
    except OSError as error:
        logger.warning("cannot read %s, going on without it: %s", path, error.strerror or error)
        return []
    for warning in registry.warnings:
        logger.warning("%s: %s", path, warning)
    return list(registry.agents)


def _registry_in(path: str) -> Registry:
    try:
        return _parsed(path)
    except ValueError:
        with _locked(os.path.dirname(path) or "."):
            try:
                return _parsed(path)  # which a server may have replaced meanwhile
            except ValueError as error:
                _set_aside(path, error)
        return Registry(0, ())


def _parsed(path: str) -> Registry:
    data = _contents(path)
    return Registry(0, ()) if data is None else parse_registry(data)


def _contents(path: str) -> bytes | None:
    """The file, if there is one. Raises OSError; ValueError if it is a pipe, a device or a folder."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError("it is not a regular file")
        with open(open_regular(path), "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _set_aside(path: str, error: ValueError) -> None:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = f"{path}.broken-{stamp}"
    try:
        os.replace(path, aside)
    except OSError as trouble:
        logger.warning("%s is no registry (%s), and cannot be set aside: %s", path, error, trouble.strerror or trouble)
    else:
        logger.warning("%s is no registry (%s); it is set aside as %s", path, error, aside)
