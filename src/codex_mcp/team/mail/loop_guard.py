"""Keeps agents from answering each other for ever: counts the turns that mail began, and tells the lead what is held.

The counts are in the mail's database, so they survive a restart. The hops are in the messages.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

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
    "person in between. They stay unread: those with max_hops hops until {agent} gets a prompt, which they follow, and "
    "the others until there are fewer turns in an hour. atm_read as {agent} returns them now."
)


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

    async def held(self, to: Address, unread: tuple[Message, ...]) -> int:
        """How many of these are held back now."""
        log = await self._log()
        return len(choose(to, unread, await log.traffic(), self._budget, time.time()).held)

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


def _is_before(message: Message, prompted: float | None) -> bool:
    return prompted is not None and (message.sent_at is None or message.sent_at <= prompted)
