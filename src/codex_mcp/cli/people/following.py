"""`codex-mcp approvals --watch`: questions as they come and end, of the servers that run, and of those that start."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.cli.output import print_json_line, print_text
from codex_mcp.cli.people.asking import closed, entry, lines
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach, Why
from codex_mcp.control.server import Caller, connect_server, living_nodes
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Notification

LOOK_EVERY: Final = 0.1
"""Seconds between two looks for servers that have started."""

TRY_EVERY: Final = 2.0
"""Seconds between two tries to reach one that did not answer."""


class _Told(Struct, frozen=True):
    kind: str
    data: Raw


async def follow(state_dir: str, caller: Caller, names: Mapping[str, str], *, as_json: bool) -> None:
    """Until it is cancelled."""
    tasks = TaskSet()
    followed: dict[str, _Followed] = {}
    try:
        while True:
            for node in living_nodes(state_dir):
                if node not in followed or followed[node].is_over:
                    said = followed[node].said if node in followed else ""
                    followed[node] = _Followed(state_dir, node, names.get(node, ""), as_json=as_json, said=said)
                    tasks.spawn(followed[node].run(caller), name=f"questions of {node}")
            await asyncio.sleep(LOOK_EVERY)
    finally:
        await tasks.aclose()


class _Followed:
    """One server."""

    def __init__(self, state_dir: str, node: str, name: str, *, as_json: bool, said: str) -> None:
        self._state_dir = state_dir
        self._node = node
        self._name = name or f"server {node}"
        self._as_json = as_json
        self.said = said
        """The last failure, which is not repeated."""
        self.is_over = False

    async def run(self, caller: Caller) -> None:
        try:
            await self._run(caller)
        except CannotReach as exc:
            if exc.why is not Why.ENDED and str(exc) != self.said:
                print(f"codex-mcp approvals: {exc}", file=sys.stderr, flush=True)
            self.said = str(exc)
        except RequestFailed as exc:
            print(f"codex-mcp approvals: {self._name} refused: {exc}", file=sys.stderr, flush=True)
        finally:
            asyncio.get_running_loop().call_later(TRY_EVERY, self._is_to_be_tried)

    def _is_to_be_tried(self) -> None:
        self.is_over = True

    async def _run(self, caller: Caller) -> None:
        async with connect_server(self._state_dir, self._node, caller, name=self._name, told=self._told) as (
            server,
            hello,
        ):
            self._name = f"server process {hello.pid}"
            for question in (await server.follow([control.QUESTIONS])).questions:
                self._show(control.OPENED, question)
            self.said = ""
            raise await server.until_lost()

    def _told(self, message: Notification) -> None:
        if message.method != control.EVENT:
            return
        try:
            told = msgspec.json.decode(message.params, type=_Told)
            if told.kind in (control.OPENED, control.CLOSED):
                self._show(told.kind, msgspec.json.decode(told.data, type=control.Question))
        except msgspec.MsgspecError:
            return  # an event of a later version

    def _show(self, kind: str, question: control.Question) -> None:
        asked = Asked(question, self._node, self._name)
        if self._as_json:
            print_json_line({"event": kind.removeprefix("question."), "approval": entry(asked)})
        elif kind == control.OPENED:
            print_text(lines(asked, time.time()) + "\n")
        else:
            print_text(closed(asked) + "\n")
