"""Reads and writes the configuration files of clients.

A file of a project comes with the repository, and may be a symbolic link to anything. So a file is resolved once, the
result must lie in a folder that belongs to it, and what is written follows no link any more.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import PRIVATE, read_if_there, unlink_without_links, write_whole_without_links
from codex_mcp.base.ownership import chown_advice
from codex_mcp.cli.clients.known import Folders, Place, Scope
from codex_mcp.cli.clients.surroundings import roots

LONGEST_FILE: Final = 256 * 1024 * 1024
"""Bytes. Claude Code keeps the history of many projects in its file."""

READABLE: Final = 0o644
"""For a new file in a project, which others work on too; files in the home folder are private."""


@contextlib.contextmanager
def explained(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        advice = chown_advice(path, os.path.expanduser("~")) if isinstance(exc, PermissionError) else ""
        what_to_do = f"; it belongs to another user: run {advice}" if advice else ""
        if isinstance(exc, NotADirectoryError):
            what_to_do = "; one of its folders is a file: move that away"
        raise Explained(f"cannot {verb} {path}: {exc.strerror or exc}{what_to_do}") from exc


def read_config(path: str) -> bytes | None:
    """The bytes of a file; None if it does not exist. Raises Explained."""
    with explained("read", path):
        return read_if_there(path, LONGEST_FILE)


def target_of(place: Place, where: Folders) -> str:
    """The file that a change of this place changes: without symbolic links. Raises Explained if it lies elsewhere.

    A project's file must lie in the project, and a user's file in the user's folders or in the project.
    """
    target = os.path.realpath(place.file)
    is_shared = place.scope is Scope.PROJECT
    if is_shared and ".git" in target.split("/"):
        raise Explained(f"cannot change {place.file}: it leads to {target}, a file of git; edit it yourself")
    folders = [where.project] if is_shared else roots(where)
    for folder in folders:
        root = os.path.realpath(folder)
        if target == root or target.startswith(f"{root.rstrip('/')}/"):
            return target
    link = "" if target == place.file else f" leads to {target}, which"
    outside = "is outside of your home folder and of this project; edit it yourself"
    if is_shared:
        outside = "is outside of this project; edit it yourself"
    raise Explained(f"cannot change {place.file}: it{link} {outside}")


def check_writable(path: str, target: str) -> None:
    """Raises Explained if the file is read-only."""
    with explained("change", path), contextlib.suppress(FileNotFoundError):
        # For root every file is writable; a file without any such right was protected on purpose.
        if not os.stat(target).st_mode & 0o222:
            raise Explained(f"cannot change {path}: it is read-only; run chmod u+w on it, or edit it yourself")
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "you may not write to it")


def write_config(target: str, data: bytes, *, is_shared: bool = False) -> None:
    """Replace the file. Raises Explained."""
    with explained("write", target):
        write_whole_without_links(target, data, mode=READABLE if is_shared else PRIVATE)


def remove_config(target: str, where: Folders) -> None:
    """Remove a file that `install` has made; of a client's own folders, those that are empty then.

    An empty folder would say that its client is here. Raises Explained.
    """
    with explained("remove", target):
        unlink_without_links(target)
    shared = {os.path.realpath(each) for each in (where.home, where.config, where.support, where.project)}
    folder = os.path.dirname(target)
    with contextlib.suppress(OSError):  # it holds something else
        while folder not in shared and folder.startswith(f"{os.path.realpath(where.home)}/"):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
