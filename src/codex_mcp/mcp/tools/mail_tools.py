"""The tools for team mail, for the client of the server and for the agents themselves.

Both come to `_do_audited`, with the mailbox in whose name it is done: the client names one of its own
(`team/mail/names`), and for an agent it is that of the calling thread. Every call is audited with its name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.mail.message import Outgoing
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.schema import mail_results as results
from codex_mcp.mcp.schema.catalogue import Tool
from codex_mcp.mcp.schema.fields import BadArguments
from codex_mcp.mcp.schema.mail_catalogue import (
    ATM_BROADCAST,
    ATM_SEND,
    MAIL_TOOLS,
    BroadcastArguments,
    MailArguments,
    ReadArguments,
    SendArguments,
    agent_arguments,
)
from codex_mcp.mcp.schema.results import Result, refused
from codex_mcp.mcp.tools.dispatch import Bodies
from codex_mcp.team.agent import Mailbox
from codex_mcp.team.records.audit_entry import AuditOutcome
from codex_mcp.team.team import Team
from codex_mcp.threads.questions.tool_calls import tool_answer
from codex_mcp.wire.app.questions import ToolCallRequest

logger = logging.getLogger(__name__)

BY_NAME: Final = {tool.name: tool for tool in MAIL_TOOLS}

NOT_AN_AGENT: Final = "The mail cannot be used: this thread is not an agent of the team any longer."


class MailTools:
    def __init__(self, team: Team) -> None:
        self._team = team

    def bodies(self) -> Bodies:
        return [(tool, partial(self._call_by_client, tool)) for tool in MAIL_TOOLS]

    async def _call_by_client(self, tool: Tool, call: Call, arguments: MailArguments) -> Result:
        is_sender = tool in (ATM_SEND, ATM_BROADCAST)
        box = await self._team.mail.mailbox(arguments.identity, call.principal, is_sender=is_sender)
        try:
            done = await self._do_audited(tool, box, arguments, call.label, is_unwanted=lambda: call.is_cancelled)
        except Refused as exc:  # it is in the audit already
            return refused(str(exc))
        except Explained as exc:
            logger.warning("call of %s failed: %s", tool.name, exc)
            return refused(str(exc))
        return results.mail_result(done)

    async def call_by_agent(self, thread_id: str, asked: ToolCallRequest) -> object:
        """The answer to a call of an agent, which is identified by its thread."""
        member, tool = self._team.roster.of_thread(thread_id), BY_NAME.get(asked.tool)
        if member is None or tool is None:
            return tool_answer(NOT_AN_AGENT if member is None else f"There is no tool {asked.tool}.", is_error=True)
        try:
            given = asked.arguments if isinstance(asked.arguments, dict) else {}
            arguments = agent_arguments(tool, given, member.mailbox.identity)
        except BadArguments as exc:
            self._audit(tool, member.mailbox, AuditOutcome.REFUSED, error=exc.told(tool.name))
            return tool_answer(exc.told(tool.name), is_error=True)
        try:
            if isinstance(arguments, BroadcastArguments):
                arguments = replace(arguments, hops=self._team.injection.hops_of(member))
            return tool_answer(results.in_words(await self._do_audited(tool, member.mailbox, arguments)))
        except Explained as exc:
            return tool_answer(str(exc), is_error=True)

    async def _do_audited(
        self,
        tool: Tool,
        box: Mailbox,
        arguments: MailArguments,
        request_id: str | None = None,
        is_unwanted: Callable[[], bool] = lambda: False,
    ) -> dict[str, object]:
        """Do it, and audit it. Raises Explained. A reader that `is_unwanted` marks nothing as read."""
        audit = partial(self._audit, tool, box, request_id=request_id, what=_what(arguments))
        try:
            done = await self._do(box, arguments, is_unwanted)
        except Explained as exc:
            audit(AuditOutcome.REFUSED if isinstance(exc, Refused) else AuditOutcome.FAILED, error=str(exc))
            raise
        audit(AuditOutcome.OK)
        return done

    async def _do(self, box: Mailbox, arguments: MailArguments, is_unwanted: Callable[[], bool]) -> dict[str, object]:
        mail = self._team.mail
        match arguments:
            case ReadArguments():
                return await self._read(box, arguments, is_unwanted)
            case SendArguments():
                return results.sent(box.identity, await mail.send(box, arguments.to, _outgoing(arguments)))
            case BroadcastArguments():
                return results.broadcast(box.identity, await mail.broadcast(box, _outgoing(arguments)))
            case _:
                return {"identity": box.identity, "pending": await mail.pending(box)}

    async def _read(self, box: Mailbox, arguments: ReadArguments, is_unwanted: Callable[[], bool]) -> dict[str, object]:
        mail = self._team.mail
        if arguments.message_id is not None:
            reading = await mail.message(box, arguments.message_id)
        else:
            reading = await mail.unread(box, arguments.limit)
        done = results.messages(box.identity, reading.messages, reading.remaining)
        if arguments.mark_read and reading.messages and not is_unwanted():
            await mail.mark(box, reading)  # last, when nothing else can fail
        return done

    def _audit(
        self, tool: Tool, box: Mailbox, outcome: AuditOutcome, request_id: str | None = None, **details: str | None
    ) -> None:
        self._team.work.audit(box, tool.name, outcome, request_id=request_id, **details)


def _outgoing(arguments: BroadcastArguments) -> Outgoing:
    return Outgoing(text=arguments.message, summary=arguments.summary, hops=arguments.hops, is_urgent=arguments.urgent)


def _what(arguments: MailArguments) -> str | None:
    """What the audit says of a call: the recipient and the message, which the audit shortens and masks."""
    match arguments:
        case SendArguments():
            return f"to {arguments.to}: {arguments.summary or arguments.message}"
        case BroadcastArguments():
            return f"to all: {arguments.summary or arguments.message}"
        case _:
            return None
