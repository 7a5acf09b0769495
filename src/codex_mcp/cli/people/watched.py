"""Draws what the control socket tells of an agent, as the demo draws one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.printable import one_line
from codex_mcp.cli.demo.screen import Screen, Who
from codex_mcp.cli.demo.show import Drawing
from codex_mcp.cli.mcp_client.messages import event_of
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Notification

LEFT_OUT: Final = "This terminal was too slow: something is left out here."
ASKS: Final = {
    "exec_approval_request": "asks for permission to run a command.",
    "apply_patch_approval_request": "asks for permission to change files.",
    "request_permissions": "asks for more permissions.",
    "request_user_input": "asks its user a question.",
    "elicitation_request": "passes on a question of a tool.",
}
"""What else a question says is for those who may answer it."""


class _Told(Struct, frozen=True):
    kind: str
    data: Raw


class _Data(Struct, frozen=True):
    """What is read of an event's data besides those that the demo draws."""

    type: str = ""
    message: str = ""
    reason: str = ""
    command: Sequence[str] = ()
    is_here: bool = True


class Watched:
    def __init__(self, screen: Screen, folder: str) -> None:
        self._screen = screen
        self._drawing = Drawing(screen, folder)
        self.left = asyncio.Event()
        """The agent is not run by this server any longer."""

    def told(self, message: Notification) -> None:
        if message.method == control.RESYNC:
            self._screen.says(Who.SERVER, LEFT_OUT)
        elif message.method == control.EVENT:
            try:
                told = msgspec.json.decode(message.params, type=_Told)
                event = event_of(told.data)
                if event is not None:
                    self._drawing.event_received(event)
                else:
                    self._other(msgspec.json.decode(told.data, type=_Data))
            except msgspec.MsgspecError:
                return  # an event of a later version

    def _other(self, data: _Data) -> None:
        if not data.is_here:
            self.left.set()
        elif data.type == "user_message":
            self._screen.says(Who.PROMPT, data.message)
        elif data.type == "turn_aborted":
            self._screen.says(Who.CODEX, f"The turn was stopped ({one_line(data.reason) or 'no reason given'}).")
        elif data.type in ASKS:
            command = f" `{' '.join(data.command)}`" if data.command else ""
            self._screen.says(Who.CODEX, f"{ASKS[data.type]}{command}")
