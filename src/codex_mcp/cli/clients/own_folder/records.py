"""Remembers what an entry of ours cannot tell: its address, and the entry that `install --force` replaced."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.files import write_whole
from codex_mcp.cli.clients.config_files import explained, read_config
from codex_mcp.cli.clients.known import Folders
from codex_mcp.cli.clients.own_folder.lock import own_folder

NAME: Final = "installed.json"


class Installed(Struct, frozen=True):
    """An entry of ours."""

    file: str
    path: list[str]
    url: str | None = None
    """The address that was written."""

    replaced: object = None
    """The entry of another program that was there before."""


class Records:
    """All records. Whoever changes them holds the lock."""

    def __init__(self, where: Folders) -> None:
        self._file = f"{own_folder(where)}/{NAME}"

    def of(self, file: str, path: Sequence[str]) -> Installed:
        """What is known about this entry; if nothing is, an empty record."""
        found = [each for each in self._all() if (each.file, each.path) == (file, [*path])]
        return found[0] if found else Installed(file, [*path])

    def remember(self, record: Installed) -> None:
        """Keep this record in the place of an older one; an empty record needs none. Raises Explained."""
        before = self._all()
        after = [each for each in before if (each.file, each.path) != (record.file, record.path)]
        if record.url is not None or record.replaced is not None:
            after.append(record)
        if after == before:
            return
        with explained("write", self._file):
            if after:
                write_whole(self._file, msgspec.json.format(msgspec.json.encode(after)))
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._file)

    def forget(self, file: str, path: Sequence[str]) -> None:
        self.remember(Installed(file, [*path]))

    def _all(self) -> list[Installed]:
        data = read_config(self._file)
        try:
            return msgspec.json.decode(data or b"[]", type=list[Installed])
        except (msgspec.DecodeError, UnicodeDecodeError):  # damaged: entries are then recognised without it
            return []
