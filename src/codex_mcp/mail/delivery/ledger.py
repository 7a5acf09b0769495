"""The ledger: how far each message came and when, on the disk before the next step is taken. See `transitions`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.transitions import STEERED, MailDelivery, MailProgress, MailStep, Stage, after

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    from codex_mcp.state.embedded.small_database import SmallDatabase

PLACE = "team = ? AND agent = ?"


class Ledger:
    def __init__(self, database: SmallDatabase) -> None:
        self._database = database

    async def record(
        self, address: Address, ids: Iterable[str], step: MailStep, *, steered: bool = False
    ) -> dict[str, MailProgress | None]:
        """Record a step of some messages of an inbox, all or none. Returns what was recorded of each before.

        `steered`: they were added to a running turn.
        """
        wanted, now = list(ids), time.time()

        def job(db: sqlite3.Connection) -> dict[str, MailProgress | None]:
            if steered:
                _note_times(db, [(address.team, address.agent, each, STEERED, now) for each in wanted])
            return _recorded(db, address, wanted, step, now)

        return await self._database.write(job)

    async def deliveries(self) -> dict[tuple[Address, str], MailDelivery]:
        """How far each message came that is on its way or was delivered, of all inboxes, and when."""
        return await self._database.write(_deliveries)

    async def forget(self, address: Address, ids: Iterable[str]) -> None:
        rows = [(address.team, address.agent, message_id) for message_id in ids]
        await self._database.write(lambda db: _forget(db, rows))

    async def forget_others(self, address: Address, present: Collection[str]) -> None:
        """Forget what is no longer in the inbox: the ledger never has more rows than the inbox has messages."""
        place = (address.team, address.agent)

        def job(db: sqlite3.Connection) -> None:
            found = [row[0] for row in db.execute(f"SELECT id FROM delivery WHERE {PLACE}", place)]
            _forget(db, [(*place, message_id) for message_id in found if message_id not in present])

        await self._database.write(job)


def _forget(db: sqlite3.Connection, rows: Iterable[tuple[str, str, str]]) -> None:
    gone = list(rows)
    for table in ("delivery", "delivered"):
        db.executemany(f"DELETE FROM {table} WHERE {PLACE} AND id = ?", gone)


def _note_times(db: sqlite3.Connection, rows: Iterable[tuple[str, str, str, str, float]]) -> None:
    db.executemany("INSERT OR REPLACE INTO delivered (team, agent, id, stage, at) VALUES (?, ?, ?, ?, ?)", rows)


def _deliveries(db: sqlite3.Connection) -> dict[tuple[Address, str], MailDelivery]:
    times: dict[tuple[Address, str], dict[str, float]] = {}
    for team, agent, message_id, stage, at in db.execute("SELECT team, agent, id, stage, at FROM delivered"):
        times.setdefault((Address(agent, team), message_id), {})[stage] = at
    return {
        (Address(agent, team), message_id): MailDelivery(
            MailProgress(Stage(stage), offers), times.get((Address(agent, team), message_id), {})
        )
        for team, agent, message_id, stage, offers in db.execute("SELECT team, agent, id, stage, offers FROM delivery")
    }


def _recorded(
    db: sqlite3.Connection, address: Address, ids: list[str], step: MailStep, at: float
) -> dict[str, MailProgress | None]:
    place = (address.team, address.agent)
    before: dict[str, MailProgress | None] = {}
    for message_id in ids:
        query = f"SELECT stage, offers FROM delivery WHERE {PLACE} AND id = ?"
        row = db.execute(query, (*place, message_id)).fetchone()
        progress = before[message_id] = MailProgress(Stage(row[0]), row[1]) if row else None
        now = after(progress, step)
        if now is None:
            _forget(db, [(*place, message_id)])
        elif now != progress:
            db.execute(
                "INSERT OR REPLACE INTO delivery (team, agent, id, stage, offers) VALUES (?, ?, ?, ?, ?)",
                (*place, message_id, now.stage, now.offers),
            )
            _note_times(db, [(*place, message_id, now.stage, at)])
    return before
