"""The lines that are appended to a file, as they come, also when the file is set aside and a new one begun."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO


class Follower:
    """Reads on from where the file ends when it is made. `close()` it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = self._opened()
        self._unfinished = b""
        if self._file is not None:
            self._file.seek(0, os.SEEK_END)

    def lines(self, pause: Callable[[], None]) -> Iterator[bytes]:
        """Whole lines, without end; `pause` is called when there is nothing to read."""
        while True:
            found = self._read()
            yield from found
            if not found:
                pause()

    def close(self) -> None:
        """Read no more. Again: fine."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self) -> list[bytes]:
        was_set_aside = self._file is None or not self._is_current(self._file)
        # Looked at before reading: what was written until it was set aside is then in what is read now.
        data = b"" if self._file is None else self._file.read()
        if was_set_aside:
            self.close()
            self._file = self._opened()
        *whole, self._unfinished = (self._unfinished + data).split(b"\n")
        return whole

    def _opened(self) -> BinaryIO | None:
        try:
            return open(self._path, "rb")
        except FileNotFoundError:
            return None

    def _is_current(self, file: BinaryIO) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False
