"""From a policy's paths to mounts: looks at what exists, opens what is writable, holds the place of what must not be.

Names with power over later commands (`.git`, `.codex`, …) are protected in every writable folder, as Codex does it:
kept read-only where they exist, and kept from being made where they do not. One that is a symbolic link could be
exchanged, so a sandbox there is refused.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from typing import Final

from codex_mcp.execserver.bubblewrap import Kind, Layer
from codex_mcp.execserver.placeholders import Placeholders
from codex_mcp.execserver.policy import CannotEnforce, Grant, Policy
from codex_mcp.wire.exec_sandbox import Access

PROTECTED: Final = (".git", ".codex", ".agents", ".aws")

FOLDER: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

RANK: Final = {Access.READ: 0, Access.WRITE: 1, Access.DENY: 2}
"""Of two rules for the same path the later of these holds."""


class Mounts:
    """The layers of one view. What is only needed to start is released by `started`, the rest by `ended`."""

    def __init__(self, policy: Policy, placeholders: Placeholders, started: ExitStack, ended: ExitStack) -> None:
        self._placeholders = placeholders
        self._started = started
        self._ended = ended
        self._rules: dict[str, Grant] = {}
        for grant in policy.grants or ():
            self._add(grant)
        self.layers: list[Layer] = []
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
        self.layers.append(Layer(path, Kind.READ, self._opened(path)))

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
        self.layers.append(Layer(grant.path, Kind.WRITE, self._opened(grant.path)))
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
        if not self._hold_again(path):
            self._show(path)

    def _hold(self, path: str) -> None:
        try:
            is_ours = self._placeholders.hold(path)
        except OSError as exc:
            # We may not make it here, so the confined process, which is us, may not either.
            if exc.errno is None:
                raise
            return
        if not is_ours:
            self._show(path)
            return
        self._ended.callback(self._placeholders.release, path)
        self.layers.append(Layer(path, Kind.EMPTY))

    def _hold_again(self, path: str) -> bool:
        if path not in self._placeholders:
            return False
        self._hold(path)
        return True

    def _hide(self, path: str, *, is_folder: bool) -> None:
        if is_folder:
            self.layers.append(Layer(path, Kind.HIDDEN_FOLDER))
            return
        nothing = os.memfd_create("hidden", os.MFD_CLOEXEC)
        self._started.callback(os.close, nothing)
        self.layers.append(Layer(path, Kind.HIDDEN_FILE, nothing))

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
