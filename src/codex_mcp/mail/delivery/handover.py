"""Hands unread mail to an agent: offered, started, read. The caller runs one turn of an agent at a time.

`next_batch` gives the text for a prompt, from an inbox as it was just read. When the core has confirmed the turn, call
`turn_started`; if it has refused the prompt, `turn_refused`. If neither is called, as after a crash, the mail is
delivered again, and says so.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.envelope import EnvelopeLimits, chosen, envelope
from codex_mcp.mail.delivery.ledger import Ledger
from codex_mcp.mail.delivery.transitions import MailStep, is_deliverable, is_redelivery
from codex_mcp.mail.message import IdKind, Message, urgent_first

if TYPE_CHECKING:
    from codex_mcp.mail.store import MailStore

Wanted = Callable[[Message], bool]


class MailBatch(Struct, frozen=True):
    """Mail for one turn: the text for the prompt, and the messages in it."""

    to: Address
    text: str
    messages: tuple[Message, ...]
    redelivered: frozenset[str]


class Handover:
    def __init__(self, store: MailStore, limits: EnvelopeLimits) -> None:
        self._store = store
        self._ledger = Ledger(store.database)
        self._limits = limits
        self._tidied: set[Address] = set()

    async def next_batch(
        self, to: Address, inbox: Sequence[Message], wanted: Wanted = lambda _: True
    ) -> MailBatch | None:
        """The next of the messages in an agent's inbox, recorded as offered; None if there are none."""
        await self._tidy(to, inbox)
        unread = urgent_first(each for each in inbox if not each.is_read and wanted(each))
        while first := chosen(unread, self._limits):
            before = await self._ledger.record(to, [message.id for message in first], MailStep.OFFER)
            fresh = [message for message in first if is_deliverable(before[message.id])]
            # Delivered, but a program without locks has undone the mark in the inbox.
            await self._mark_again(to, [message.id for message in first if message not in fresh])
            rest = unread[len(first) :]
            if fresh:
                again = frozenset(message.id for message in fresh if is_redelivery(before[message.id]))
                waiting = [*fresh, *rest]
                limits = EnvelopeLimits(len(fresh), self._limits.characters)
                text = envelope(to, waiting, again, secrets.token_hex(16), limits).text
                return MailBatch(to, text, tuple(fresh), again)
            unread = rest
        return None

    async def turn_started(self, batch: MailBatch, *, steered: bool = False) -> None:
        """The core has confirmed the turn, or that the mail was added to one: it is marked as read."""
        ids = [message.id for message in batch.messages]
        await self._ledger.record(batch.to, ids, MailStep.START, steered=steered)
        await self._store.mark(batch.to, ids)
        await self._ledger.record(batch.to, ids, MailStep.FINISH)
        # Such an id may pass to another message when one is removed, so the mark in the inbox must do.
        derived = [message.id for message in batch.messages if message.id_kind is IdKind.DERIVED]
        if derived:
            await self._ledger.forget(batch.to, derived)

    async def turn_refused(self, batch: MailBatch) -> None:
        """The core did not take the prompt: the mail stays for the next turn."""
        await self._ledger.record(batch.to, [message.id for message in batch.messages], MailStep.WITHDRAW)

    async def _tidy(self, to: Address, inbox: Sequence[Message]) -> None:
        """Forget what is no longer in the inbox, before its first delivery."""
        if to not in self._tidied:
            self._tidied.add(to)
            await self._ledger.forget_others(to, {message.id for message in inbox})

    async def _mark_again(self, to: Address, ids: list[str]) -> None:
        if ids:
            await self._store.mark(to, ids)
