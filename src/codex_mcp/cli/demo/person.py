"""Asks the person at the terminal. Without a terminal, the demo approves and prints that it did."""

from __future__ import annotations

import asyncio
import os
import termios
from typing import Final

from codex_mcp.base.futures import resolve
from codex_mcp.cli.demo.screen import Screen, Who
from codex_mcp.cli.mcp_client.messages import Decision

LINE_BYTES: Final = 4096
"""The longest line that a terminal delivers at once."""

CHOICE: Final = "Allow it? [y]es, [n]o, [d]eny and say why:"
WHY: Final = "Why not?"

YES: Final = ("y", "Y", "yes")
NO: Final = ("n", "N", "no")
WITH_REASON: Final = ("d", "D", "deny")


class Person:
    def __init__(self, screen: Screen, terminal: int) -> None:
        self._screen = screen
        self._terminal = terminal

    async def decide(self) -> Decision:
        """Ask until the answer is clear. The end of input is a no."""
        while (word := await self._ask(CHOICE)) not in (*YES, *NO, *WITH_REASON):
            pass
        reason = await self._ask(WHY) if word in WITH_REASON else ""
        self._screen.line()
        return Decision(approved=word in YES, reason=reason)

    async def _ask(self, question: str) -> str:
        # Keys typed before the question appears do not answer it.
        termios.tcflush(self._terminal, termios.TCIFLUSH)
        self._screen.prompt(question)
        line = await read_line(self._terminal)
        if line is None:
            self._screen.line()  # the terminal shows nothing for the end of input, not even a new line
            return NO[0]
        return line.strip()


class AlwaysApprove:
    def __init__(self, screen: Screen, why: str) -> None:
        self._screen = screen
        self._why = why

    async def decide(self) -> Decision:
        self._screen.says(Who.YOU, f"Allowed, without asking you: {self._why}.")
        return Decision(approved=True)


async def read_line(terminal: int) -> str | None:
    """Wait for a line without blocking the event loop; None is the end of input."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(terminal, resolve, ready, None)
    try:
        await ready
    finally:
        loop.remove_reader(terminal)
    # A terminal becomes readable when a line is complete, so this does not wait.
    return os.read(terminal, LINE_BYTES).decode(errors="replace") or None
