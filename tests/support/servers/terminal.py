"""A program at a terminal of its own, as a person would run it: what it shows is read, and keys are typed."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from tests.support.patience import PATIENCE

READ_BYTES = 65536
CTRL_C = "\x03"
CTRL_D = "\x04"


class Terminal:
    """`with Terminal(argv, env) as terminal:` kills the program if it still runs at the end."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], columns: int = 80) -> None:
        self.shown = ""
        """Everything that it wrote."""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={"TERM": "xterm-256color", **env},
            start_new_session=True,
            # Its controlling terminal, so that Ctrl-C is a signal to it.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._master)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> None:
        """Wait until it has written this."""
        self.wait_until(lambda: text in self.shown, text)

    def wait_until(self, is_shown: Callable[[], bool], what: str) -> None:
        """Wait until this is true, looking again whenever it has written something."""
        deadline = time.monotonic() + PATIENCE
        while not is_shown():
            assert self._read(deadline), f"{what!r} was never shown:\n{self.shown}"

    def exit_code(self) -> int:
        """Wait for its end, and for the last that it shows."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        return self._process.wait(PATIENCE)

    def _read(self, deadline: float) -> bool:
        """Read some more; False at its end."""
        ready, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"nothing more was shown:\n{self.shown}"
        try:
            data = os.read(self._master, READ_BYTES)
        except OSError:  # nobody has the terminal open any longer
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)
