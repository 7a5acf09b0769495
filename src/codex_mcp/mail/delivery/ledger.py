"""The ledger: how far each message came, on the disk before the next step is taken. See `transitions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codex_mcp.mail.delivery.transitions import Progress, Stage, Step, after

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    from codex_mcp.mail.address import Address
    from codex_mcp.state.embedded.small_database import SmallDatabase

PLACE = "team = ? AND agent = ?"


class Ledger:
    def __init__(self, database: SmallDatabase) -> None:
        self._database = database

    async def record(self, address: Address, ids: Iterable[str], step: Step) -> dict[str, Progress | None]:
        """Record a step of some messages of an inbox, all or none. Returns what was recorded of each before."""
        wanted = list(ids)
        return await self._database.write(lambda db: _recorded(db, address, wanted, step))

    async def forget(self, address: Address, ids: Iterable[str]) -> None:
        rows = [(address.team, address.agent, message_id) for message_id in ids]
        statement = f"DELETE FROM delivery WHERE {PLACE} AND id = ?"
        await self._database.write(lambda db: db.executemany(statement, rows))

    async def forget_others(self, address: Address, present: Collection[str]) -> None:
        """Forget what is no longer in the inbox: the ledger never has more rows than the inbox has messages."""
        place = (address.team, address.agent)

        def job(db: sqlite3.Connection) -> None:
            found = [row[0] for row in db.execute(f"SELECT id FROM delivery WHERE {PLACE}", place)]
            gone = [(*place, message_id) for message_id in found if message_id not in present]
            db.executemany(f"DELETE FROM delivery WHERE {PLACE} AND id = ?", gone)

        await self._database.write(job)


def _recorded(db: sqlite3.Connection, address: Address, ids: list[str], step: Step) -> dict[str, Progress | None]:
    place = (address.team, address.agent)
    before: dict[str, Progress | None] = {}
    for message_id in ids:
        query = f"SELECT stage, offers FROM delivery WHERE {PLACE} AND id = ?"
        row = db.execute(query, (*place, message_id)).fetchone()
        progress = before[message_id] = Progress(Stage(row[0]), row[1]) if row else None
        now = after(progress, step)
        if now is None:
            db.execute(f"DELETE FROM delivery WHERE {PLACE} AND id = ?", (*place, message_id))
        elif now != progress:
            db.execute(
                "INSERT OR REPLACE INTO delivery (team, agent, id, stage, offers) VALUES (?, ?, ?, ?, ?)",
                (*place, message_id, now.stage, now.offers),
            )
    return before
