"""`fs/walk`: everything below a directory, breadth first, names sorted, within limits."""

from __future__ import annotations

import os
import stat
from collections import deque
from typing import Final

from codex_mcp.base.file_uris import uri_from_path
from codex_mcp.execserver.errors import invalid_request, os_error_text
from codex_mcp.wire.exec.files import Walked, WalkEntry, WalkError, WalkKind, WalkOptions

MAX_DEPTH: Final = 64
MAX_DIRECTORIES: Final = 10_000
MAX_ENTRIES: Final = 50_000
MAX_REPLY_BYTES: Final = 4 * 1024 * 1024
ENTRY_BYTES: Final = 64
"""The real server's limits; the size of an answer is estimated as its paths plus ENTRY_BYTES each."""


def walk(root: str, options: WalkOptions) -> Walked:
    """Folders that cannot be read are listed as errors. Raises OSError only for the root."""
    _check(options)
    os.stat(root)  # a link to nothing is missing, even if links are not followed
    if not stat.S_ISDIR(os.stat(root, follow_symlinks=options.follow_directory_symlinks).st_mode):
        return Walked([], [], truncated=False)
    return _Walk(root, options).run()


def _check(options: WalkOptions) -> None:
    if options.max_directories <= 0 or options.max_entries <= 0 or options.max_depth < 0:
        raise invalid_request("filesystem walk limits must be greater than zero")
    if options.max_depth > MAX_DEPTH or options.max_directories > MAX_DIRECTORIES or options.max_entries > MAX_ENTRIES:
        limits = f"depth={MAX_DEPTH}, directories={MAX_DIRECTORIES}, entries={MAX_ENTRIES}"
        raise invalid_request(f"filesystem walk limits exceed maximums: {limits}")


class _Walk:
    def __init__(self, root: str, options: WalkOptions) -> None:
        self._options = options
        self._left: deque[tuple[str, int]] = deque([(root, 0)])
        self._seen = {self._identity(os.stat(root))}
        self._entries: list[WalkEntry] = []
        self._errors: list[WalkError] = []
        self._bytes = 0
        self._is_full = False

    def run(self) -> Walked:
        directories = 0
        while self._left and not self._is_full:
            if directories >= self._options.max_directories:
                self._is_full = True
                break
            folder, depth = self._left.popleft()
            directories += 1
            self._look_into(folder, depth)
        return Walked(self._entries, self._errors, truncated=self._is_full)

    @staticmethod
    def _identity(found: os.stat_result) -> tuple[int, int]:
        return found.st_dev, found.st_ino

    def _look_into(self, folder: str, depth: int) -> None:
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError as exc:
            self._failed(folder, exc)
            return
        for entry in entries:
            try:
                self._found(entry, depth)
            except OSError as exc:
                self._failed(entry.path, exc)
            if self._is_full:
                return

    def _found(self, entry: os.DirEntry[str], depth: int) -> None:
        is_link = entry.is_symlink()
        if entry.is_dir(follow_symlinks=self._options.follow_directory_symlinks):
            self._add(entry.path, WalkKind.DIRECTORY)
            is_hidden = self._options.prune_hidden_directories and entry.name.startswith(".")
            identity = self._identity(entry.stat())
            if depth < self._options.max_depth and not is_hidden and identity not in self._seen:
                self._seen.add(identity)
                self._left.append((entry.path, depth + 1))
        elif not is_link and entry.is_file(follow_symlinks=False):
            self._add(entry.path, WalkKind.FILE)

    def _add(self, path: str, kind: WalkKind) -> None:
        uri = uri_from_path(path)
        self._bytes += len(uri) + ENTRY_BYTES
        if len(self._entries) >= self._options.max_entries or self._bytes > MAX_REPLY_BYTES:
            self._is_full = True
        else:
            self._entries.append(WalkEntry(uri, kind))

    def _failed(self, path: str, exc: OSError) -> None:
        error = WalkError(uri_from_path(path), os_error_text(exc))
        self._bytes += len(error.path) + len(error.message) + ENTRY_BYTES
        if self._bytes > MAX_REPLY_BYTES:
            self._is_full = True
        else:
            self._errors.append(error)
