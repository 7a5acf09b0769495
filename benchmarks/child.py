"""A child process that ends when its stdin does, and is killed if it does not."""

from __future__ import annotations

from subprocess import Popen, TimeoutExpired
from types import TracebackType
from typing import Self

END_LIMIT = 10.0
"""Seconds from closing its stdin until a child is killed."""


class Child:
    """`with Child(popen) as child:` ends it."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Popen's own end waits without a limit.
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_LIMIT)
        except TimeoutExpired:
            self.kill()
        with self._process:
            pass

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
