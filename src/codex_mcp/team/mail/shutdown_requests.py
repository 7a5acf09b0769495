"""The lead of a team asks an agent to shut down, by mail: the agent is closed, and the lead is told.

Only a request of the lead that the team's configuration names counts. From anyone else it is mail as any other, so that
no agent can close another one by writing to it.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from typing import Final

from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.mail.address import Address
from codex_mcp.mail.message import Message, Outgoing
from codex_mcp.team.closing import Closing
from codex_mcp.team.mail.team_mail import TeamMail
from codex_mcp.team.roster import Member

logger = logging.getLogger(__name__)

REQUEST: Final = "shutdown_request"
APPROVED: Final = "shutdown_approved"

SUMMARY: Final = "has shut down"


class ShutdownRequests:
    def __init__(self, mail: TeamMail, closing: Closing) -> None:
        self._mail = mail
        self._closing = closing

    async def obey(self, member: Member, address: Address, unread: Sequence[Message]) -> bool:
        """Whether the lead has asked for it; then the agent is closed now. Raises Explained."""
        asked = [message for message in unread if message.kind == REQUEST]
        if not asked:
            return False
        lead = (await self._mail.files.config(address.team)).lead
        # A name of another team is another's, whatever it is.
        own = (None, address.team)
        request = next((each for each in asked if each.sender == lead and each.sender_team in own), None)
        if request is None:
            return False
        agent = member.agent
        logger.info("the lead asks agent %s to shut down", agent.identity)
        await self._mail.files.mark(address, [request.id])  # first: an agent that is resumed must not be closed again
        await self._closing.close(agent.codex_id, agent.principal, event=REQUEST)
        store = await self._mail.open_store()
        answer = Outgoing(text=approval(request, agent.identity, time.time()), summary=SUMMARY)
        await store.send(address, Address(request.sender, address.team), answer, allow_unknown=True)
        return True


def approval(request: Message, identity: str, now: float) -> str:
    """The answer in Claude Code's form: it looks for the id of its own request, and doubts an answer without it.

    The request is JSON, or its kind would not be known.
    """
    try:
        asked = json.loads(request.text)
    except ValueError:
        asked = {}
    request_id = asked.get("requestId") or asked.get("request_id") if isinstance(asked, dict) else None
    answer = {"type": APPROVED, "requestId": request_id, "from": identity, "timestamp": format_timestamp(now)}
    return json.dumps(answer)
