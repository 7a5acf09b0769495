"""Tells a lead who does not look into its inbox that mail is there, over the socket of its session.

Claude Code reads the inbox of the lead about once a second, but only after it has started a teammate of its own; what
it reads it removes. A message that is still there after a while gets a nudge. The nudge is not the delivery: the
message stays in the inbox, and no receipt comes back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from codex_mcp.base.tasks import TaskSet
from codex_mcp.team.mail.claude_session import Letter, Wire, nudge, spoken

logger = logging.getLogger(__name__)

DELAY: Final = 3.0
"""Seconds that the lead has to read a message by itself."""

PATIENCE: Final = 2.0
"""Seconds for all that is done with the socket."""

MOST: Final = 10
"""Messages that one nudge names, and that may wait for theirs. Older ones are in the inbox all the same."""

Unread = Callable[[], Awaitable[frozenset[str]]]


class Nudges:
    """`unread` returns the ids of the messages that are in the lead's inbox."""

    def __init__(self, wire: Wire | None, inbox: Callable[[], str], unread: Unread, delay: float = DELAY) -> None:
        self._wire = wire
        self._inbox = inbox
        self._unread = unread
        self._delay = delay
        self._letters: list[Letter] = []
        self._is_running = False
        self._has_failed = False
        self._tasks = TaskSet()

    def mail_sent(self, letter: Letter) -> None:
        if self._wire is None:
            return
        self._letters = [*self._letters, letter][-MOST:]
        if not self._is_running:
            self._is_running = True
            self._tasks.spawn(self._run(self._wire), name="nudges of the lead")

    async def aclose(self) -> None:
        await self._tasks.aclose()

    async def _run(self, wire: Wire) -> None:
        while self._letters:
            await asyncio.sleep(self._delay)
            letters, self._letters = self._letters, []
            unread = await self._unread()
            if waiting := [letter for letter in letters if letter.id in unread]:
                await self._speak(wire, nudge(waiting, self._inbox()))
        self._is_running = False

    async def _speak(self, wire: Wire, text: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_unix_connection(wire.path)
                try:
                    writer.write(spoken(wire.token, text))
                    writer.write_eof()
                    await writer.drain()
                    await reader.read(1)  # it closes the connection when it has read all
                finally:
                    writer.close()
        except (OSError, TimeoutError) as exc:
            if not self._has_failed:
                self._has_failed = True
                logger.warning("cannot nudge Claude Code over %s: %r; mail stays in its inbox", wire.path, exc)
