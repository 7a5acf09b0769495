"""From a policy's paths to mounts: looks at what exists, opens what is writable, holds the place of what must not be.

Names with power over later commands (`.git`, `.codex`, …) are protected in every writable folder, as Codex does it:
kept read-only where they exist, and kept from being made where they do not. One that is a symbolic link could be
exchanged, so a sandbox there is refused.

A mount lies on one file or folder; if somebody outside exchanges that for another, the other is not covered. So a view
that is used again is compared first: `sight` says what was found, and is the same only if nothing was exchanged.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeAlias

from codex_mcp.execserver.bubblewrap import Kind, Layer
from codex_mcp.execserver.glob_scan import matches
from codex_mcp.execserver.placeholders import Placeholders
from codex_mcp.execserver.policy import CannotEnforce, Grant, Policy
from codex_mcp.wire.exec_sandbox import Access

PROTECTED: Final = (".git", ".codex", ".agents", ".aws")

FOLDER: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

RANK: Final = {Access.READ: 0, Access.WRITE: 1, Access.DENY: 2}
"""Of two rules for the same path the later of these holds."""

CANNOT_BE_MADE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR})
"""If we may not make something, the confined process, which is us with fewer rights, may not either."""

NOTHING: Final = -1
"""No descriptor."""

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")

Identity: TypeAlias = tuple[int, int, int]
Sight: TypeAlias = tuple[Kind | None, tuple[tuple[str, Kind, Identity], ...], bytes]


class Mounts:
    """The layers of one view. What is only needed to start is released by `started`, the rest by `ended`."""

    def __init__(self, policy: Policy, placeholders: Placeholders, started: ExitStack, ended: ExitStack) -> None:
        self._placeholders = placeholders
        self._started = started
        self._ended = ended
        self._rules: dict[str, Grant] = {}
        for grant in policy.grants or ():
            self._add(grant)
        for hidden in policy.hidden:
            for path in matches(hidden):
                self._add(Grant(path, Access.DENY))
        self.layers: list[Layer] = []
        self._found: list[tuple[str, Kind, Identity]] = []
        self.holds_places = False
        """There are folders that would not be there without this view."""
        for grant in sorted(self._rules.values(), key=lambda grant: grant.path.count("/")):
            if grant.path != "/":
                self._mount(grant)

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

    def _add(self, grant: Grant) -> None:
        # With everything readable, links lead where they lead outside; a rule is for what is there, not for the link.
        path = os.path.realpath(grant.path)
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
        if self.base is None or self._is_inside_writable(path):
            self._show(path)

    def _show(self, path: str) -> None:
        self._lay(path, Kind.READ, self._opened(path))

    def _lay(self, path: str, kind: Kind, found: int, shown: int | None = None) -> None:
        """Cover what was found with itself, or with what shall be shown in its place."""
        self.layers.append(Layer(path, kind, found if shown is None else shown))
        self._found.append((path, kind, _identity(found, kind)))

    def _opened(self, path: str) -> int:
        """What is there now, by way of folders only: a link that somebody puts there meanwhile leads nowhere."""
        here = os.open("/", FOLDER)
        try:
            *folders, name = [part for part in os.path.realpath(path).split("/") if part]
            for folder in folders:
                below = os.open(folder, FOLDER, dir_fd=here)
                os.close(here)
                here = below
            found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        finally:
            os.close(here)
        self._started.callback(os.close, found)
        return found

    def _write(self, grant: Grant, *, is_folder: bool) -> None:
        self._lay(grant.path, Kind.WRITE, self._opened(grant.path))
        if is_folder:
            for name in PROTECTED:
                self._protect(os.path.join(grant.path, name), may_hold=not grant.is_temporary)

    def _protect(self, path: str, *, may_hold: bool) -> None:
        if path in self._rules and self._rules[path].access is not Access.READ:
            return  # the client has said itself what it wants there
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            if may_hold:
                self._hold(path)
            return
        if stat.S_ISLNK(mode):
            raise CannotEnforce(f"sandbox intent cannot be enforced on this executor: {path} is a symbolic link")
        if stat.S_ISDIR(mode):
            if not may_hold and not os.listdir(path):
                return  # as good as missing; Codex leaves such folders there, and removes them at any time
            self._hold(path)  # if it is a placeholder, of ours or of another server; else it is shown
        else:
            self._show(path)

    def _hold(self, path: str) -> None:
        try:
            place = self._placeholders.hold(path)
        except OSError as exc:
            if exc.errno in CANNOT_BE_MADE and not os.path.lexists(path):
                return
            raise
        if place is None:
            self._show(path)
            return
        self._ended.callback(self._placeholders.release, place)
        self.holds_places = True
        self._lay(path, Kind.EMPTY, place.descriptor, shown=NOTHING)

    def _hide(self, path: str, *, is_folder: bool) -> None:
        if is_folder:
            self._lay(path, Kind.HIDDEN_FOLDER, self._opened(path), shown=NOTHING)
            return
        nothing = os.memfd_create("hidden", os.MFD_CLOEXEC)
        self._started.callback(os.close, nothing)
        self._lay(path, Kind.HIDDEN_FILE, self._opened(path), shown=nothing)

    def _keep_missing(self, grant: Grant) -> None:
        """What is not there can be neither read nor written; what must not be seen must not come into being either."""
        name = os.path.basename(grant.path)
        if grant.access is not Access.WRITE and name not in PROTECTED and self._is_inside_writable(grant.path):
            if os.path.isdir(os.path.dirname(grant.path)):
                self._hold(grant.path)
            elif grant.access is Access.DENY:
                raise CannotEnforce(f"sandbox intent cannot be enforced on this executor: {grant.path} is missing")

    def _is_inside_writable(self, path: str) -> bool:
        return any(
            rule.access is Access.WRITE and path != rule.path and path.startswith(rule.path.rstrip("/") + "/")
            for rule in self._rules.values()
        )


def _identity(descriptor: int, kind: Kind) -> Identity:
    """Which file or folder it is. A file can lose its name and get it back without being another file, but not without
    a trace in the time of its last change. One that is writable changes all the time, and loses nothing but rights."""
    found = os.fstat(descriptor)
    is_sure = stat.S_ISDIR(found.st_mode) or kind is Kind.WRITE
    return found.st_dev, found.st_ino, 0 if is_sure else found.st_ctime_ns
