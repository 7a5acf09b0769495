"""A child process that ends when its stdin does, and is killed if it does not."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from types import TracebackType
from typing import Self

END_LIMIT = 10.0
"""Seconds from closing its stdin until a child is killed."""


class Child:
    """`with Child(argv, cwd) as child:` ends it."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, stderr: int | None = None
    ) -> None:
        self._process = Popen(
            argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=stderr,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Popen itself would wait without a limit.
        try:
            self.end(END_LIMIT)
        except TimeoutExpired:
            self.kill()
        with self._process:
            pass

    def end(self, limit: float) -> None:
        """Close its stdin and wait. Raises TimeoutExpired."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(limit)

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Kill it and everything that it started."""
        os.killpg(self.pid, signal.SIGKILL)
