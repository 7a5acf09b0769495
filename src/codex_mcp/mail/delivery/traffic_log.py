"""The turns that mail began, and when a lead was told of held mail, in the database: a restart forgets neither.

All servers of a state folder count together. Rows older than the window are removed with the next one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.budgets import Budget, Traffic, Turn, is_notice_due

if TYPE_CHECKING:
    import sqlite3

    from codex_mcp.state.embedded.small_database import SmallDatabase


class TrafficLog:
    """All methods raise Unavailable."""

    def __init__(self, database: SmallDatabase, budget: Budget) -> None:
        self._database = database
        self._budget = budget

    async def traffic(self) -> Traffic:
        statement = "SELECT at, agent, team, senders FROM traffic ORDER BY at"
        rows = await self._database.write(lambda db: db.execute(statement).fetchall())
        return tuple(Turn(at, Address(agent, team), _senders(senders)) for at, agent, team, senders in rows)

    async def add(self, turn: Turn) -> None:
        # Escapes are ASCII: names come from messages, and may be no valid Unicode.
        senders = json.dumps(sorted((sender.agent, sender.team) for sender in turn.senders))
        row = (turn.at, turn.agent.agent, turn.agent.team, senders)

        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM traffic WHERE at + ? <= ?", (self._budget.window, turn.at))
            db.execute("INSERT INTO traffic (at, agent, team, senders) VALUES (?, ?, ?, ?)", row)

        await self._database.write(job)

    async def begin_notice(self, to: Address, now: float) -> bool:
        """Whether the lead is to be told now that mail for this agent is held; then it counts as told."""

        def job(db: sqlite3.Connection) -> bool:
            place = (to.team, to.agent)
            row = db.execute("SELECT at FROM notices WHERE team = ? AND agent = ?", place).fetchone()
            is_due = is_notice_due(row[0] if row else None, now, self._budget)
            if is_due:
                db.execute("INSERT OR REPLACE INTO notices (team, agent, at) VALUES (?, ?, ?)", (*place, now))
            return is_due

        return await self._database.write(job)


def _senders(text: str) -> frozenset[Address]:
    return frozenset(Address(agent, team) for agent, team in json.loads(text))
