"""Messages that were sent and are not certain yet, in the database: taken over from senders that died, looked for after
a write, and written again if a program without locks has overwritten them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained
from codex_mcp.mail.address import Address
from codex_mcp.mail.files.exchange import SPARE
from codex_mcp.mail.files.versions import contents
from codex_mcp.mail.resending import SENDING, Action, Sent, Stage, look_after, next_action

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from codex_mcp.mail.files.layout import Layout
    from codex_mcp.mail.inbox_file import Inboxes
    from codex_mcp.state.embedded.small_database import SmallDatabase

logger = logging.getLogger(__name__)

LOOK_EVERY: Final = 5.0
"""Seconds between two looks at the database for messages of senders that died."""

SHORTEST: Final = 0.05
"""Seconds between two looks at least."""

COLUMNS: Final = "id, agent, team, record, stage, is_rechecked, checks, writes, due"


class OutboxRow(Struct, frozen=True):
    """One row."""

    id: str
    to: Address
    record: str
    sent: Sent
    due: float


class Outbox:
    def __init__(self, layout: Layout, inboxes: Inboxes, database: SmallDatabase, clock: Callable[[], float]) -> None:
        self._layout = layout
        self._inboxes = inboxes
        self._database = database
        self._clock = clock
        self._news = asyncio.Event()

    async def intend(self, message_id: str, to: Address, record: str, *, is_rechecked: bool) -> None:
        """Remember a message before it is written. Its draft must exist: a missing draft means that it was written."""
        sent = Sent(stage=Stage.INTENDED, is_rechecked=is_rechecked)
        await self._store(OutboxRow(message_id, to, record, sent, self._clock() + SENDING))

    async def written(self, message_id: str, *, is_rechecked: bool) -> None:
        """The message is in the inbox, and the folder is synced."""
        if not is_rechecked:
            await self.forget(message_id)
            return
        due = self._clock() + look_after(0)
        statement = "UPDATE outgoing SET stage = ?, checks = 0, writes = writes + 1, due = ? WHERE id = ?"
        await self._database.write(lambda db: db.execute(statement, (Stage.WRITTEN, due, message_id)))
        self._news.set()

    async def forget(self, message_id: str) -> None:
        await self._database.write(lambda db: db.execute("DELETE FROM outgoing WHERE id = ?", (message_id,)))

    async def settle(self, now: float) -> float | None:
        """Do what is due, and say when the next is; None if nothing is left. Raises Unavailable."""
        while row := await self._database.write(lambda db: _claimed(db, now)):
            await self._settle(row)
        due: float | None
        (due,) = await self._database.write(lambda db: db.execute("SELECT min(due) FROM outgoing").fetchone())
        return due

    async def run(self) -> None:
        """Settle for ever: the task of a server."""
        while True:
            self._news.clear()
            due = await self.settle(self._clock())
            patience = LOOK_EVERY if due is None else min(max(due - self._clock(), SHORTEST), LOOK_EVERY)
            # Not wait_for: in Python 3.11 it swallows a cancellation that comes together with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._news.wait()

    async def _settle(self, row: OutboxRow) -> None:
        try:
            action = await in_thread(self._action, row)
            if action is Action.WRITE:
                logger.info("writing message %s to %s again: it is not there", row.id, row.to)
                await in_thread(self._inboxes.append, row.to, row.record, row.id)
        except (OSError, Explained) as error:
            logger.warning("message %s to %s is not certain, and is looked at again: %s", row.id, row.to, error)
            return  # it stays claimed for a while
        await self._record(row, action)

    def _action(self, row: OutboxRow) -> Action:
        if not os.path.isdir(self._layout.inboxes(row.to.team)):
            return Action.GIVE_UP
        has_draft = self._has_draft(row)
        ids = {message.id for message in self._inboxes.inbox_in(row.to, contents(self._layout.inbox(row.to))).messages}
        return next_action(row.sent, has_draft=has_draft, is_there=row.id in ids)

    def _has_draft(self, row: OutboxRow) -> bool:
        """Whether the draft still waits for its place. After an exchange it is the version from before: remove it.

        A message that a program without locks wrote in that moment may be in that version alone.
        """
        draft = self._layout.draft(row.to, row.id)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft + SPARE)
        if not os.path.exists(draft):
            return False
        data = contents(draft)
        if not data or row.id.encode() in data:
            return True
        if row.sent.is_rechecked:
            self._inboxes.restore(row.to, data, f"{row.id}-restored")
        os.unlink(draft)
        return False

    async def _record(self, row: OutboxRow, action: Action) -> None:
        match action:
            case Action.WRITE:
                await self.written(row.id, is_rechecked=row.sent.is_rechecked)
            case Action.LOOK_AGAIN:
                checks = row.sent.checks + 1
                sent = Sent(stage=Stage.WRITTEN, is_rechecked=True, checks=checks, writes=row.sent.writes)
                await self._store(OutboxRow(row.id, row.to, row.record, sent, self._clock() + look_after(checks)))
            case Action.GIVE_UP:
                logger.error(
                    "message %s to %s is lost: the team is gone, or other programs overwrite it", row.id, row.to
                )
                await self.forget(row.id)
            case Action.DONE:
                await self.forget(row.id)

    async def _store(self, row: OutboxRow) -> None:
        sent = row.sent
        values = (row.id, row.to.agent, row.to.team, row.record, sent.stage, sent.is_rechecked, sent.checks)
        statement = f"INSERT OR REPLACE INTO outgoing ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        await self._database.write(lambda db: db.execute(statement, (*values, sent.writes, row.due)))


def _claimed(db: sqlite3.Connection, now: float) -> OutboxRow | None:
    """A row that is due. Other processes leave it alone for a while."""
    found = db.execute(f"SELECT {COLUMNS} FROM outgoing WHERE due <= ? ORDER BY due LIMIT 1", (now,)).fetchone()
    if found is None:
        return None
    message_id, agent, team, record, stage, is_rechecked, checks, writes, due = found
    db.execute("UPDATE outgoing SET due = ? WHERE id = ?", (now + SENDING, message_id))
    sent = Sent(stage=Stage(stage), is_rechecked=bool(is_rechecked), checks=checks, writes=writes)
    return OutboxRow(message_id, Address(agent, team), record, sent, due)
