"""Keeps agents from answering each other for ever: counts the turns that mail began, and tells the lead what is held.

The counts are in the mail's database, so they survive a restart. The hops are in the messages.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from codex_mcp.base.errors import Explained
from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.loop_protection import (
    Budget,
    Choice,
    MailTurn,
    MailVerdict,
    Traffic,
    choose,
    is_notice_due,
    mail_turn_of,
)
from codex_mcp.mail.message import Message, Outgoing
from codex_mcp.team.mail.team_mail import TeamMail

if TYPE_CHECKING:
    import sqlite3

    from codex_mcp.state.embedded.small_database import SmallDatabase

logger = logging.getLogger(__name__)

NOTICE = (
    "{count} message(s) for {agent} are held back, because agents have written to each other too often without a "
    "person in between. They stay unread: those with max_hops hops until {agent} gets a prompt, which they follow, and "
    "the others until there are fewer turns in an hour. atm_read as {agent} returns them now."
)


class TrafficLog:
    """The turns that mail began, and when a lead was told of held mail. All methods raise Unavailable.

    All servers of a state folder count together. Rows older than the window are removed with the next one.
    """

    def __init__(self, database: SmallDatabase, budget: Budget) -> None:
        self._database = database
        self._budget = budget

    async def traffic(self) -> Traffic:
        statement = "SELECT at, agent, team, senders FROM traffic ORDER BY at"
        rows = await self._database.write(lambda db: db.execute(statement).fetchall())
        return tuple(MailTurn(at, Address(agent, team), _senders(senders)) for at, agent, team, senders in rows)

    async def add(self, turn: MailTurn) -> None:
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


class LoopGuard:
    def __init__(self, mail: TeamMail, max_hops: int) -> None:
        self._mail = mail
        self._budget = Budget(hops=max_hops)
        self._prompted: dict[str, float] = {}
        """When a caller last gave an agent a prompt, by codex_id. Mail that was there by then counts as new again."""

    def prompted(self, codex_id: str) -> None:
        self._prompted[codex_id] = time.time()

    def counted(self, codex_id: str, messages: Iterable[Message]) -> tuple[Message, ...]:
        """The messages with the hops that count: none if a caller has spoken to the agent since."""
        prompted = self._prompted.get(codex_id)
        return tuple(replace(each, hops=0) if _is_before(each, prompted) else each for each in messages)

    async def held(self, to: Address, unread: tuple[Message, ...]) -> Mapping[str, MailVerdict]:
        """Why each of these is held back now that is."""
        log = await self._log()
        return choose(to, unread, await log.traffic(), self._budget, time.time()).held

    async def choose(self, to: Address, unread: tuple[Message, ...]) -> Choice:
        """What may begin a turn now. The lead is told of what may not, once an hour for each agent."""
        now, log = time.time(), await self._log()
        choice = choose(to, unread, await log.traffic(), self._budget, now)
        if choice.held and await log.begin_notice(to, now):
            await self._tell_lead(to, len(choice.held))
        return choice

    async def turn_began(self, to: Address, messages: tuple[Message, ...]) -> None:
        await (await self._log()).add(mail_turn_of(to, messages, time.time()))

    async def _log(self) -> TrafficLog:
        return TrafficLog((await self._mail.open_store()).database, self._budget)

    async def _tell_lead(self, to: Address, count: int) -> None:
        text = NOTICE.format(count=count, agent=to.agent)
        logger.warning("%s", text)
        try:
            lead = await self._mail.lead_of(to.team)
            if lead is not None and lead != to:
                store = await self._mail.open_store()
                # With all hops used up, the notice itself begins no turn of an agent of ours.
                mail = Outgoing(text=text, hops=self._budget.hops)
                await store.send(to, lead, mail, allow_unknown=True)
        except Explained as exc:
            logger.warning("cannot tell the lead of team %s: %s", to.team, exc)


def _is_before(message: Message, prompted: float | None) -> bool:
    return prompted is not None and (message.sent_at is None or message.sent_at <= prompted)


def _senders(text: str) -> frozenset[Address]:
    return frozenset(Address(agent, team) for agent, team in json.loads(text))
