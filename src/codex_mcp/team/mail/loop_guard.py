"""Keeps agents from answering each other for ever: counts the turns that mail began, and tells the lead what is held.

The counts are in the mail's database, so they survive a restart. The hops are in the messages.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from codex_mcp.base.errors import Explained
from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.budgets import Budget
from codex_mcp.mail.message import Message
from codex_mcp.mail.store_types import Outgoing
from codex_mcp.team.mail.choosing import Choice, choose, turn_of
from codex_mcp.team.mail.team_mail import TeamMail

if TYPE_CHECKING:
    from codex_mcp.mail.delivery.traffic_log import TrafficLog

logger = logging.getLogger(__name__)

NOTICE = (
    "{count} message(s) for {agent} are held back, because agents have written to each other too often without a "
    "person in between (max_hops, or too many turns in an hour). They stay unread. Read them with atm_read as {agent}, "
    "or give {agent} a prompt."
)


class LoopGuard:
    def __init__(self, mail: TeamMail, max_hops: int) -> None:
        self._mail = mail
        self._budget = Budget(hops=max_hops)

    async def choose(self, to: Address, unread: tuple[Message, ...]) -> Choice:
        """What may begin a turn now. The lead is told of what may not, once an hour for each agent."""
        now, log = time.time(), await self._log()
        choice = choose(to, unread, await log.traffic(), self._budget, now)
        if choice.held and await log.begin_notice(to, now):
            await self._tell_lead(to, len(choice.held))
        return choice

    async def turn_began(self, to: Address, messages: tuple[Message, ...]) -> None:
        await (await self._log()).add(turn_of(to, messages, time.time()))

    async def _log(self) -> TrafficLog:
        from codex_mcp.mail.delivery.traffic_log import TrafficLog  # noqa: PLC0415  only for a team that has mail

        return TrafficLog((await self._mail.opened()).database, self._budget)

    async def _tell_lead(self, to: Address, count: int) -> None:
        text = NOTICE.format(count=count, agent=to.agent)
        logger.warning("%s", text)
        try:
            lead = await self._mail.lead_of(to.team)
            if lead is not None and lead != to:
                store = await self._mail.opened()
                # With all hops used up, the notice itself begins no turn of an agent of ours.
                mail = Outgoing(text=text, hops=self._budget.hops)
                await store.send(to, lead, mail, allow_unknown=True)
        except Explained as exc:
            logger.warning("cannot tell the lead of team %s: %s", to.team, exc)
