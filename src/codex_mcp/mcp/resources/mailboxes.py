"""The mailboxes of a client as resources (`codex://mail/NAME`), and new mail in its log messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from codex_mcp.mcp.resources.subscriptions import Source
from codex_mcp.mcp.resources.uris import MAIL_MIME, listed_mailbox, mailbox_uri
from codex_mcp.mcp.schema import mail_results
from codex_mcp.mcp.schema.mail_catalogue import MOST_READ
from codex_mcp.team.mail.arrivals import Arrival, Stop
from codex_mcp.team.team import Team
from codex_mcp.wire.features import Level, LogMessage

LOGGER: Final = "codex_mcp.team.mail"


class Mailboxes:
    """All methods take the principal of the client, and raise Explained if a mailbox is not its own."""

    def __init__(self, team: Team) -> None:
        self._team = team

    async def describe(self, principal: str) -> dict[str, object]:
        names = await self._team.mail.own_names(principal)
        return {mailbox_uri(name): listed_mailbox(name) for name in names}

    async def content(self, identity: str, principal: str) -> dict[str, object]:
        mail = self._team.mail
        box = await mail.mailbox(identity, principal, is_sender=False)
        reading = await mail.unread(box, MOST_READ)
        data = mail_results.messages(identity, reading.messages, reading.remaining)
        return {"uri": mailbox_uri(identity), "mimeType": MAIL_MIME, "text": msgspec.json.encode(data).decode()}

    async def source(self, identity: str, principal: str) -> Source:
        """The changes of a mailbox, for a subscription."""
        await self._team.arrivals.prepare(identity, principal)
        return lambda changed: self._team.arrivals.follow(identity, principal, lambda _: changed())

    def log_to(self, send: Callable[[LogMessage], None], principal: str) -> Stop:
        """Send a log message for new mail of this client's agents and of its lead; return what ends that."""

        def tell(arrival: Arrival) -> None:
            text = f"{arrival}; read it with atm_read, or at {mailbox_uri(arrival.identity)}"
            send(LogMessage(Level.INFO, LOGGER, text))

        return self._team.arrivals.follow_all(principal, tell)
