"""Turns the paths of a policy into mounts: looks at what exists, opens it, and creates placeholders for what must not.

Names that affect later commands (`.git`, `.codex`, …) are protected in every writable folder, as Codex does: read-only
where they exist, and kept from being created where they do not. A symbolic link with such a name could be replaced, so
a sandbox there is refused. A repository may keep its hooks and configuration elsewhere, behind a `.git` file; those
directories are read-only as well, and so is `.git` of repositories further below.

A mount covers one file or folder; if another program replaces it, the replacement is not covered. So before a view is
reused, its `fingerprint` is compared: it is equal only if nothing was replaced.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, TypeAlias

from codex_mcp.base.files import open_without_links
from codex_mcp.execserver.sandbox.bubblewrap import Layer, MountKind
from codex_mcp.execserver.sandbox.glob_scan import matches
from codex_mcp.execserver.sandbox.placeholders import Placeholders
from codex_mcp.execserver.sandbox.policy import REFUSAL, SHARED_TEMP, CannotEnforce, Grant, Policy
from codex_mcp.execserver.sandbox.repositories import Repositories, git_directories
from codex_mcp.wire.exec.sandbox import Access

logger = logging.getLogger(__name__)

PROTECTED: Final = (".git", ".codex", ".agents", ".aws")

RANK: Final = {Access.READ: 0, Access.WRITE: 1, Access.DENY: 2}
"""Of two rules for the same path, the one with the higher rank applies."""

DAEMON: Final = "codex-daemon-"
"""Followed by the user id."""

CANNOT_BE_MADE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR})
"""What we cannot create, the confined process cannot create either: it has fewer rights."""

NO_DESCRIPTOR: Final = -1

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")

Identity: TypeAlias = tuple[int, int, int]
Fingerprint: TypeAlias = tuple[MountKind | None, tuple[tuple[str, MountKind, Identity], ...], bytes]


class Mounts:
    """The layers of one view. `started` releases what is needed only for the start, `ended` the rest."""

    def __init__(
        self,
        policy: Policy,
        placeholders: Placeholders,
        repositories: Repositories,
        started: ExitStack,
        ended: ExitStack,
    ) -> None:
        self._placeholders = placeholders
        self._repositories = repositories
        self._started = started
        self._ended = ended
        self._rules: dict[str, Grant] = {}
        writable = [os.path.realpath(grant.path) for grant in policy.grants or () if grant.access is Access.WRITE]
        for grant in policy.grants or ():
            self._add(grant, writable)
        for hidden in policy.hidden:
            for path in matches(hidden):
                self._add(Grant(path, Access.DENY))
        self.layers: list[Layer] = []
        self._found: list[tuple[str, MountKind, Identity]] = []
        self.holds_placeholders = False
        """Empty folders exist only because of this view."""
        self._dot_gits: list[str] = []
        for grant in sorted(self._rules.values(), key=lambda grant: grant.path.count("/")):
            if grant.path != "/":
                self._mount(grant)
        self._protect_repositories()
        self._hide_daemon()

    @property
    def base(self) -> MountKind | None:
        root = self._rules.get("/")
        if root is None or root.access is Access.DENY:
            return None
        return MountKind.WRITE if root.access is Access.WRITE else MountKind.READ

    @property
    def fingerprint(self) -> Fingerprint:
        """Everything that the view depends on. What was found is kept open, so its inode number is not reused. Later
        mounts would be visible inside the view, so the mount table is included."""
        return self.base, tuple(self._found), MOUNT_TABLE.read_bytes()

    def _add(self, grant: Grant, writable: Sequence[str] = ()) -> None:
        # Links inside a view lead where they lead outside, so a rule applies to the target, not to the link.
        path = os.path.realpath(grant.path)
        if grant.access is Access.WRITE and path != grant.path and (link := _link_in(grant.path, writable)):
            logger.warning("%s stays read-only: a sandbox could have created the link %s", grant.path, link)
            return
        known = self._rules.get(path)
        if known is None or RANK[grant.access] > RANK[known.access]:
            self._rules[path] = Grant(path, grant.access, grant.is_temporary)
        if path != grant.path and grant.access is Access.READ:
            self._rules.setdefault(grant.path, Grant(grant.path, grant.access, grant.is_temporary))

    def _mount(self, grant: Grant) -> None:
        try:
            found = os.stat(grant.path)
        except OSError:
            self._keep_missing(grant)
            return
        match grant.access:
            case Access.READ:
                self._read(grant.path)
            case Access.WRITE:
                self._write(grant, is_folder=stat.S_ISDIR(found.st_mode))
            case _:
                self._hide(grant.path, is_folder=stat.S_ISDIR(found.st_mode))

    def _read(self, path: str) -> None:
        if self._access_above(path) is not Access.READ:
            self._lay(path, MountKind.READ, self._opened(os.path.realpath(path)))

    def _show(self, path: str) -> None:
        self._lay(path, MountKind.READ, self._opened(path))

    def _lay(self, path: str, kind: MountKind, found: int, shown: int | None = None) -> None:
        """Mount what was found on itself, or show something else in its place."""
        self.layers.append(Layer(path, kind, found if shown is None else shown))
        self._found.append((path, kind, _identity(found, kind)))

    def _opened(self, path: str) -> int:
        """Open what is there now, without following links: a folder may have been replaced by one."""
        above, name = os.path.split(path)
        folder = open_without_links(above)
        try:
            found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        self._started.callback(os.close, found)
        if stat.S_ISLNK(os.fstat(found).st_mode):
            raise CannotEnforce(f"{REFUSAL}: {path} has become a symbolic link")
        return found

    def _write(self, grant: Grant, *, is_folder: bool) -> None:
        self._lay(grant.path, MountKind.WRITE, self._opened(grant.path))
        if not is_folder:
            return
        for name in PROTECTED:
            self._protect(os.path.join(grant.path, name))
        self._dot_gits.append(os.path.join(grant.path, ".git"))
        if not grant.is_temporary:
            # Not in temporary folders, whose content changes all the time.
            self._dot_gits += self._repositories.below(grant.path)

    def _protect(self, path: str) -> None:
        if self._is_granted(path):
            return
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            self._hold(path)
            return
        if stat.S_ISLNK(mode):
            raise CannotEnforce(f"{REFUSAL}: {path} is a symbolic link")
        if stat.S_ISDIR(mode):
            self._hold(path)  # shares a placeholder, ours or another server's; shows any other folder
        else:
            self._show(path)

    def _is_granted(self, path: str) -> bool:
        return path in self._rules and self._rules[path].access is not Access.READ

    def _hold(self, path: str) -> None:
        try:
            place = self._placeholders.hold(path)
        except OSError as exc:
            if exc.errno in CANNOT_BE_MADE and not os.path.lexists(path):
                return
            raise
        if place is None:
            self._cover(path)
            return
        self._ended.callback(self._placeholders.release, place)
        self.holds_placeholders = True
        self._lay(path, MountKind.EMPTY, place.descriptor, shown=NO_DESCRIPTOR)

    def _cover(self, path: str) -> None:
        """Show what is there. An empty folder may be the placeholder of another program, such as Codex, which may
        remove it at any time; a mount of our own on its name does not depend on it."""
        found = self._opened(path)
        with suppress(OSError):
            if not os.listdir(path):
                self._lay(path, MountKind.EMPTY, found, shown=NO_DESCRIPTOR)
                return
        self._lay(path, MountKind.READ, found)

    def _protect_repositories(self) -> None:
        """Make hooks and configuration of every repository read-only, wherever they are."""
        protected: dict[str, bool] = {}
        for dot_git in self._dot_gits:
            if self._is_granted(dot_git):
                continue
            directories = git_directories(dot_git)
            if directories and self._is_granted(directories[-1]):
                continue  # the client has granted this repository
            protected.update(dict.fromkeys(directories, True))
            protected.setdefault(os.path.realpath(dot_git), False)
        laid = [layer.path for layer in self.layers if layer.kind is not MountKind.WRITE]
        for path in sorted(protected, key=lambda path: path.count("/")):
            root = max((rule for rule in self._rules if _is_in(path, [rule])), key=len, default="")
            is_covered = _is_in(path, [other for other in laid if len(other) > len(root)])
            if root != path and root and self._rules[root].access is Access.WRITE and not is_covered:
                laid.append(path)
                with suppress(FileNotFoundError, NotADirectoryError):  # it has been removed since
                    self._protect_directory(path, root if protected[path] else None)

    def _protect_directory(self, path: str, pinned_to: str | None) -> None:
        """Make it read-only. If it is pinned to a folder, no folder between the two can be moved: the pointer would
        lead to whatever takes its place."""
        above = path
        while pinned_to is not None and (above := os.path.dirname(above)) != pinned_to:
            if os.path.isdir(above):
                self._lay(above, MountKind.WRITE, self._opened(above))
        if os.path.lexists(path):
            self._show(path)
        elif pinned_to is not None:
            while not os.path.lexists(os.path.dirname(path)):
                path = os.path.dirname(path)
            self._hold(path)

    def _hide_daemon(self) -> None:
        """The Codex daemon accepts commands at a socket in this folder. Create it first, as Codex does, so that a
        sandbox cannot."""
        path = os.path.join(os.path.realpath(SHARED_TEMP), f"{DAEMON}{os.geteuid()}")
        if self._access_at(path) in (None, Access.DENY):
            return
        with suppress(OSError):
            os.mkdir(path, 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            self._hide(path, is_folder=True)

    def _hide(self, path: str, *, is_folder: bool) -> None:
        if self._access_above(path) is Access.DENY:
            return
        if is_folder:
            self._lay(path, MountKind.HIDDEN_FOLDER, self._opened(path), shown=NO_DESCRIPTOR)
            return
        nothing = os.memfd_create("hidden", os.MFD_CLOEXEC)
        self._started.callback(os.close, nothing)
        self._lay(path, MountKind.HIDDEN_FILE, self._opened(path), shown=nothing)

    def _keep_missing(self, grant: Grant) -> None:
        """A hidden or read-only path that is missing must not be created."""
        name = os.path.basename(grant.path)
        is_writable = self._access_above(grant.path) is Access.WRITE
        if grant.access is not Access.WRITE and name not in PROTECTED and is_writable:
            if os.path.isdir(os.path.dirname(grant.path)):
                self._hold(grant.path)
            elif grant.access is Access.DENY:
                raise CannotEnforce(f"{REFUSAL}: {grant.path} is missing")

    def _access_at(self, path: str) -> Access | None:
        """The access by the narrowest rule for a path; None without a rule."""
        return self._rules[path].access if path in self._rules else self._access_above(path)

    def _access_above(self, path: str) -> Access | None:
        while path != "/":
            path = os.path.dirname(path)
            if path in self._rules:
                return self._rules[path].access
        return None


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _link_in(path: str, folders: Iterable[str]) -> str | None:
    """The first symbolic link along a path that lies in one of these folders."""
    at = "/"
    for part in path.split("/"):
        at = os.path.join(at, part)
        if os.path.islink(at) and _is_in(os.path.realpath(os.path.dirname(at)), folders):
            return at
    return None


def _identity(descriptor: int, kind: MountKind) -> Identity:
    """Identifies a file or folder. A file that was replaced and restored has another change time; for writable files,
    which change all the time, that does not matter."""
    found = os.fstat(descriptor)
    is_sure = stat.S_ISDIR(found.st_mode) or kind is MountKind.WRITE
    return found.st_dev, found.st_ino, 0 if is_sure else found.st_ctime_ns
