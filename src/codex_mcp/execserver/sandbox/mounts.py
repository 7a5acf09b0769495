"""From a policy's paths to mounts: looks at what exists, opens what is writable, holds the place of what must not be.

Names with power over later commands (`.git`, `.codex`, …) are protected in every writable folder, as Codex does it:
kept read-only where they exist, and kept from being made where they do not. One that is a symbolic link could be
exchanged, so a sandbox there is refused. A repository may keep its hooks and configuration elsewhere, behind a `.git`
that is a file; those directories are read-only as well, and so is `.git` of repositories further below.

A mount lies on one file or folder; if somebody outside exchanges that for another, the other is not covered. So a view
that is used again is compared first: `sight` says what was found, and is the same only if nothing was exchanged.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from codex_mcp.execserver.sandbox.bubblewrap import Kind, Layer
from codex_mcp.execserver.sandbox.glob_scan import matches
from codex_mcp.execserver.sandbox.placeholders import Placeholders
from codex_mcp.execserver.sandbox.policy import SHARED_TEMP, CannotEnforce, Grant, Policy
from codex_mcp.execserver.sandbox.repositories import Repositories, git_directories
from codex_mcp.wire.exec.sandbox import Access

logger = logging.getLogger(__name__)

PROTECTED: Final = (".git", ".codex", ".agents", ".aws")

FOLDER: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

RANK: Final = {Access.READ: 0, Access.WRITE: 1, Access.DENY: 2}
"""Of two rules for the same path the later of these holds."""

REFUSED: Final = "sandbox intent cannot be enforced on this executor"

DAEMON: Final = "codex-daemon-"
"""And the number of the user."""

CANNOT_BE_MADE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR})
"""If we may not make something, the confined process, which is us with fewer rights, may not either."""

NOTHING: Final = -1
"""No descriptor."""

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")

Identity: TypeAlias = tuple[int, int, int]
Sight: TypeAlias = tuple[Kind | None, tuple[tuple[str, Kind, Identity], ...], bytes]


@dataclass(frozen=True, slots=True)
class Known:
    """What a server remembers from one view to the next."""

    placeholders: Placeholders = field(default_factory=Placeholders)
    repositories: Repositories = field(default_factory=Repositories)


class Mounts:
    """The layers of one view. What is only needed to start is released by `started`, the rest by `ended`."""

    def __init__(self, policy: Policy, known: Known, started: ExitStack, ended: ExitStack) -> None:
        self._placeholders = known.placeholders
        self._repositories = known.repositories
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
        self._found: list[tuple[str, Kind, Identity]] = []
        self.holds_places = False
        """There are folders that would not be there without this view."""
        self._dot_gits: list[str] = []
        for grant in sorted(self._rules.values(), key=lambda grant: grant.path.count("/")):
            if grant.path != "/":
                self._mount(grant)
        self._protect_repositories()
        self._hide_daemon()

    @property
    def base(self) -> Kind | None:
        """How the root is seen."""
        root = self._rules.get("/")
        if root is None or root.access is Access.DENY:
            return None
        return Kind.WRITE if root.access is Access.WRITE else Kind.READ

    @property
    def sight(self) -> Sight:
        """All that the view depends on. What was found is held open, so nothing else can have its number. And what is
        mounted later would be seen inside as it is outside, so that counts as well."""
        return self.base, tuple(self._found), MOUNT_TABLE.read_bytes()

    def _add(self, grant: Grant, writable: Sequence[str] = ()) -> None:
        # With everything readable, links lead where they lead outside; a rule is for what is there, not for the link.
        path = os.path.realpath(grant.path)
        if grant.access is Access.WRITE and path != grant.path and (link := _link_in(grant.path, writable)):
            logger.warning("%s stays read-only: the link %s on its way could come from a sandbox", grant.path, link)
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
            self._lay(path, Kind.READ, self._opened(os.path.realpath(path)))

    def _show(self, path: str) -> None:
        self._lay(path, Kind.READ, self._opened(path))

    def _lay(self, path: str, kind: Kind, found: int, shown: int | None = None) -> None:
        """Cover what was found with itself, or with what shall be shown in its place."""
        self.layers.append(Layer(path, kind, found if shown is None else shown))
        self._found.append((path, kind, _identity(found, kind)))

    def _opened(self, path: str) -> int:
        """What is there now, by way of folders only. A link that has taken a name meanwhile leads nowhere."""
        here = os.open("/", FOLDER)
        try:
            *folders, name = [part for part in path.split("/") if part]
            for folder in folders:
                below = os.open(folder, FOLDER, dir_fd=here)
                os.close(here)
                here = below
            found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        finally:
            os.close(here)
        self._started.callback(os.close, found)
        if stat.S_ISLNK(os.fstat(found).st_mode):
            raise CannotEnforce(f"{REFUSED}: {path} has become a symbolic link")
        return found

    def _write(self, grant: Grant, *, is_folder: bool) -> None:
        self._lay(grant.path, Kind.WRITE, self._opened(grant.path))
        if not is_folder:
            return
        for name in PROTECTED:
            self._protect(os.path.join(grant.path, name))
        self._dot_gits.append(os.path.join(grant.path, ".git"))
        if not grant.is_temporary:
            # Not in temporary folders: what is in there comes and goes all the time.
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
            raise CannotEnforce(f"{REFUSED}: {path} is a symbolic link")
        if stat.S_ISDIR(mode):
            self._hold(path)  # if it is a placeholder, of ours or of another server; else it is shown
        else:
            self._show(path)

    def _is_granted(self, path: str) -> bool:
        """Has the client said itself what it wants there?"""
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
        self.holds_places = True
        self._lay(path, Kind.EMPTY, place.descriptor, shown=NOTHING)

    def _cover(self, path: str) -> None:
        """Show what is there. An empty folder may be the placeholder of another program, such as Codex, which removes
        it at any time; to mount something else on its name does not depend on it."""
        found = self._opened(path)
        with suppress(OSError):
            if not os.listdir(path):
                self._lay(path, Kind.EMPTY, found, shown=NOTHING)
                return
        self._lay(path, Kind.READ, found)

    def _protect_repositories(self) -> None:
        """Hooks and configuration of every repository are read-only, wherever it keeps them."""
        protected: dict[str, bool] = {}
        for dot_git in self._dot_gits:
            if self._is_granted(dot_git):
                continue
            directories = git_directories(dot_git)
            if directories and self._is_granted(directories[-1]):
                continue  # the client has granted this very repository
            protected.update(dict.fromkeys(directories, True))
            protected.setdefault(os.path.realpath(dot_git), False)
        laid = [layer.path for layer in self.layers if layer.kind is not Kind.WRITE]
        for path in sorted(protected, key=lambda path: path.count("/")):
            root = max((rule for rule in self._rules if _is_in(path, [rule])), key=len, default="")
            is_covered = _is_in(path, [other for other in laid if len(other) > len(root)])
            if root != path and root and self._rules[root].access is Access.WRITE and not is_covered:
                laid.append(path)
                with suppress(FileNotFoundError, NotADirectoryError):  # it was removed meanwhile
                    self._protect_directory(path, root if protected[path] else None)

    def _protect_directory(self, path: str, pinned_to: str | None) -> None:
        """Make it read-only. If it is pinned to a folder, nothing between the two can be moved: another folder in its
        place would be found by the same pointer."""
        above = path
        while pinned_to is not None and (above := os.path.dirname(above)) != pinned_to:
            if os.path.isdir(above):
                self._lay(above, Kind.WRITE, self._opened(above))
        if os.path.lexists(path):
            self._show(path)
        elif pinned_to is not None:
            while not os.path.lexists(os.path.dirname(path)):
                path = os.path.dirname(path)
            self._hold(path)

    def _hide_daemon(self) -> None:
        """Codex's daemon takes orders at a socket in this folder. Codex makes it before it starts a sandbox, so that a
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
            self._lay(path, Kind.HIDDEN_FOLDER, self._opened(path), shown=NOTHING)
            return
        nothing = os.memfd_create("hidden", os.MFD_CLOEXEC)
        self._started.callback(os.close, nothing)
        self._lay(path, Kind.HIDDEN_FILE, self._opened(path), shown=nothing)

    def _keep_missing(self, grant: Grant) -> None:
        """What is not there can be neither read nor written; what must not be seen must not come into being either."""
        name = os.path.basename(grant.path)
        is_writable = self._access_above(grant.path) is Access.WRITE
        if grant.access is not Access.WRITE and name not in PROTECTED and is_writable:
            if os.path.isdir(os.path.dirname(grant.path)):
                self._hold(grant.path)
            elif grant.access is Access.DENY:
                raise CannotEnforce(f"{REFUSED}: {grant.path} is missing")

    def _access_at(self, path: str) -> Access | None:
        """What the narrowest rule for a path says; None if there is none."""
        return self._rules[path].access if path in self._rules else self._access_above(path)

    def _access_above(self, path: str) -> Access | None:
        """What would hold for a path without a rule of its own."""
        while path != "/":
            path = os.path.dirname(path)
            if path in self._rules:
                return self._rules[path].access
        return None


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _link_in(path: str, folders: Iterable[str]) -> str | None:
    """The first link on the way of a path that lies inside one of these folders."""
    at = "/"
    for part in path.split("/"):
        at = os.path.join(at, part)
        if os.path.islink(at) and _is_in(os.path.realpath(os.path.dirname(at)), folders):
            return at
    return None


def _identity(descriptor: int, kind: Kind) -> Identity:
    """Which file or folder it is. A file can lose its name and get it back without being another file, but not without
    a trace in the time of its last change. One that is writable changes all the time, and loses nothing but rights."""
    found = os.fstat(descriptor)
    is_sure = stat.S_ISDIR(found.st_mode) or kind is Kind.WRITE
    return found.st_dev, found.st_ino, 0 if is_sure else found.st_ctime_ns
