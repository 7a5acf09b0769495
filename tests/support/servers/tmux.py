"""A program in tmux: its screen as a person sees it, also if it draws the same place many times."""

import asyncio
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.patience import PATIENCE

TMUX = shutil.which("tmux")

LOOK_EVERY = 0.1
TYPED_SLOWLY = 0.5
"""Seconds between a text and Enter: a TUI takes what comes at once for something pasted, with its line ends."""

PRESSED_AGAIN = 2.0
"""Seconds after which a key is pressed again."""

ENDED = "ENDED"


class Screen:
    """`with Screen(argv, env, folder) as screen:` kills the program if it still runs at the end."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], folder: Path, columns: int = 120) -> None:
        self._server = f"tests-{uuid.uuid4().hex[:12]}"
        words = [f"{name}={value}" for name, value in {"TERM": "xterm-256color", "LANG": "C.UTF-8", **env}.items()]
        line = f"{shlex.join(['env', '-i', *words, *argv])}; echo {ENDED} $?; exec sleep 1000000"
        size = ["-x", str(columns), "-y", "50"]
        self._tmux("new-session", "-d", *size, "-c", str(folder), line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        assert TMUX is not None, (
            "cannot run this test: tmux is not installed; install it, for instance by `make judges`"
        )
        argv = [TMUX, "-L", self._server, "-f", "/dev/null", *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    @property
    def pid(self) -> int:
        """The shell that runs the program."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    @property
    def text(self) -> str:
        """What is on the screen now. Lines that were wrapped are joined, with single spaces."""
        return " ".join(self._tmux("capture-pane", "-p", "-J").split())

    @property
    def has_ended(self) -> bool:
        """The program has ended; `text` has its exit code."""
        return f"{ENDED} " in self.text

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *names)

    async def type(self, line: str) -> None:
        """Type a text, and press Enter once it is there."""
        self._tmux("send-keys", "-l", line)
        await self.shows(line.lstrip("!")[-20:])  # a TUI may show the mark apart
        await asyncio.sleep(TYPED_SLOWLY)
        self.keys("Enter")

    async def shows(self, *texts: str, gone: str = "", after: str = "") -> str:
        """Wait until all of these are on the screen, behind the last `after`, and `gone` is not; the screen."""
        deadline = time.monotonic() + 2 * PATIENCE
        while True:
            shown = await asyncio.to_thread(lambda: self.text)
            behind = shown.rpartition(after)[2] if after else shown
            if all(text in behind for text in texts) and not (gone and gone in shown):
                return shown
            assert time.monotonic() < deadline, f"{texts} (without {gone!r}) never stood on the screen:\n{shown}"
            await asyncio.sleep(LOOK_EVERY)

    async def dismiss(self, key: str, text: str) -> None:
        """Press a key until this is not on the screen any more: a TUI that has just begun drops what was typed."""
        deadline = time.monotonic() + 2 * PATIENCE
        while text in await asyncio.to_thread(lambda: self.text):
            assert time.monotonic() < deadline, f"{text!r} stays on the screen:\n{self.text}"
            self.keys(key)
            await asyncio.sleep(PRESSED_AGAIN)
