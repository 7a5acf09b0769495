"""Draws what the control socket tells of an agent, as the demo draws one."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.printable import one_line
from codex_mcp.cli.demo.screen import Screen, Who
from codex_mcp.cli.demo.show import Drawing
from codex_mcp.cli.mcp_client.messages import event_of
from codex_mcp.cli.people.asking import ways
from codex_mcp.team.agent import Agent
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Notification

LEFT_OUT: Final = "This terminal was too slow: something is left out here."


class _Told(Struct, frozen=True):
    kind: str
    data: Raw


class _Data(Struct, frozen=True):
    """What is read of an event's data besides those that the demo draws."""

    type: str = ""
    message: str = ""
    reason: str = ""
    is_here: bool = True


class Watched:
    def __init__(self, screen: Screen, agent: Agent) -> None:
        self._screen = screen
        self._agent = agent
        self._drawing = Drawing(screen, agent.cwd)
        self.left = asyncio.Event()
        """The agent is not run by this server any longer."""

    def told(self, message: Notification) -> None:
        if message.method == control.RESYNC:
            self._screen.says(Who.SERVER, LEFT_OUT)
        elif message.method == control.EVENT:
            try:
                self._event_received(msgspec.json.decode(message.params, type=_Told))
            except msgspec.MsgspecError:
                return  # an event of a later version

    def _event_received(self, told: _Told) -> None:
        if told.kind in (control.OPENED, control.CLOSED):
            self.question(msgspec.json.decode(told.data, type=control.Question))
        elif (event := event_of(told.data)) is not None:
            self._drawing.event_received(event)
        else:
            self._other(msgspec.json.decode(told.data, type=_Data))

    def question(self, question: control.Question) -> None:
        """Something is asked, or was answered; that of another agent is nobody's here."""
        if question.thread != self._agent.thread_id and question.agent != self._agent.identity:
            return
        if question.receipt is not None:
            self._screen.says(Who.CODEX, question.receipt.sentence)
        else:
            self._screen.says(Who.CODEX, "\n".join(["asks: " + question.message, *ways(question)]))

    def _other(self, data: _Data) -> None:
        if not data.is_here:
            self.left.set()
        elif data.type == "user_message":
            self._screen.says(Who.PROMPT, data.message)
        elif data.type == "turn_aborted":
            self._screen.says(Who.CODEX, f"The turn was stopped ({one_line(data.reason) or 'no reason given'}).")
