"""A folder for the Codex of a surviving core, which an update of the package does not touch.

A core starts other programs of its folder for as long as it lives: its sandbox, its search. If an update removes that
folder, its sandboxed commands and its patches fail. So a surviving core runs from hard links, or from copies where none
can be made. Each Codex that was ever installed has a folder of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from typing import Final

from msgspec import Struct

from codex_mcp.base.disk.trees import remove_tree
from codex_mcp.base.files import copy_regular, make_private_folder

FOLDER: Final = os.path.join("codex-mcp", "programs")
"""In Codex's home, which sandboxed agents cannot write."""

PACKAGE: Final = "codex-package.json"
"""Stands in the folder of a packaged Codex, which has all that it needs."""

EXECUTABLE: Final = 0o700

MOST_BYTES: Final = 2 * 1024 * 1024 * 1024
"""Of one file; Codex has 300 MB."""

DEEPEST: Final = 4
"""Folders within a package; it has one level."""


class Kept(Struct, frozen=True):
    program: str
    package: str = ""
    """The folder of the package; empty if the program has none."""
    folder: str = ""
    """Stands for it."""

    def search_path(self, search_path: str) -> str:
        """The same PATH, with the tools that are kept."""
        return os.pathsep.join(map(self._place, search_path.split(os.pathsep)))

    def _place(self, place: str) -> str:
        is_inside = self.package and place.startswith(self.package + os.sep)
        return os.path.join(self.folder, os.path.relpath(place, self.package)) if is_inside else place


def kept_program(codex_home: str, program: str) -> Kept:
    """The same Codex where it stays as it is. It blocks. Raises OSError."""
    found = os.stat(program)
    same = f"{program}\0{found.st_dev}\0{found.st_ino}\0{found.st_size}\0{found.st_mtime_ns}"
    folder = os.path.join(codex_home, FOLDER, hashlib.sha256(same.encode()).hexdigest()[:16])
    root = os.path.dirname(os.path.dirname(program))
    is_package = os.path.isfile(os.path.join(root, PACKAGE))
    if is_package:
        kept = Kept(os.path.join(folder, os.path.relpath(program, root)), root, folder)
    else:
        kept = Kept(os.path.join(folder, os.path.basename(program)))
    if os.path.isfile(kept.program):
        return kept
    make_private_folder(os.path.dirname(folder))
    draft = f"{folder}.{os.urandom(6).hex()}"
    os.mkdir(draft, 0o700)
    try:
        if is_package:
            _keep_folder(root, draft, DEEPEST)
        else:
            _keep_file(program, os.path.join(draft, os.path.basename(program)))
        _publish(draft, folder)
    finally:
        if os.path.isdir(draft):
            remove_tree(draft)
    return kept


def _publish(draft: str, folder: str) -> None:
    try:
        os.rename(draft, folder)
    except OSError:
        if not os.path.isdir(folder):  # otherwise another server was faster
            raise


def _keep_folder(source: str, target: str, deepest: int) -> None:
    """Everything but links and what Python compiles."""
    with os.scandir(source) as entries:
        for entry in entries:
            there = os.path.join(target, entry.name)
            if entry.is_file(follow_symlinks=False):
                _keep_file(entry.path, there)
            elif entry.is_dir(follow_symlinks=False) and deepest and entry.name != "__pycache__":
                os.mkdir(there, 0o700)
                _keep_folder(entry.path, there, deepest - 1)


def _keep_file(source: str, target: str) -> None:
    with contextlib.suppress(OSError):  # another file system, or another user's file
        os.link(source, target, follow_symlinks=False)
        return
    copy_regular(source, target, MOST_BYTES)
    if os.stat(source).st_mode & stat.S_IXUSR:
        os.chmod(target, EXECUTABLE)
