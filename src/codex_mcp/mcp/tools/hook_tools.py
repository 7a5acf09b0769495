"""`codex_unfinished`, for the hooks of our Claude Code plugin: what the caller's agents have left to be collected or
decided. It waits for nothing and changes nothing, and is listed to nobody.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final

from codex_mcp.mcp.asking.elicitation import message_for
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.waiting import Waits, own_turns
from codex_mcp.mcp.hop.forwarding import Forwarding
from codex_mcp.mcp.schema.hook_results import (
    STOP,
    HookKind,
    Unfinished,
    found_in,
    hook_answer,
    hook_result,
    state_of,
)
from codex_mcp.mcp.schema.results import ToolResult
from codex_mcp.mcp.schema.team_catalogue import HookArguments
from codex_mcp.team.team import Team
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn

LIST: Final = "list"
"""The event of a server that asks on behalf of the caller of a hook."""

CLIENT: Final = "claude-code"
"""The client that has these hooks: answers that its lost sessions left behind are its own."""

MOST_CALLERS: Final = 1_000
"""Callers whose last answer is remembered. One that is forgotten may be told the same again."""


class HookTools:
    def __init__(self, team: Team, threads: Threads, waits: Waits, forwarding: Forwarding) -> None:
        self._team = team
        self._threads = threads
        self._waits = waits
        self._forwarding = forwarding
        self._told: OrderedDict[str, frozenset[str]] = OrderedDict()

    def at_once(self, given: Mapping[str, object], principal: str, caller: str) -> ToolResult | None:
        """None if agents of other servers may be the caller's as well."""
        event = str(given.get("event", ""))
        if event != LIST and self._forwarding.has_forwarded(caller):
            return None
        own = self._own(principal, caller)
        return hook_result(own) if event == LIST else self._answer(event, own, caller)

    async def everywhere(self, call: Call, asked: HookArguments) -> ToolResult:
        answers = await self._forwarding.each(call, {"event": LIST})
        others = [each for answer in answers for each in found_in(answer)]
        return self._answer(asked.event, [*self._own(call.principal, call.caller), *others], call.caller)

    def _own(self, principal: str, caller: str) -> list[Unfinished]:
        return [
            each
            for thread, turns in own_turns(self._threads, principal, caller, CLIENT)
            for each in self._of(thread, turns, caller)
        ]

    def _answer(self, event: str, unfinished: list[Unfinished], caller: str) -> ToolResult:
        answer = hook_answer(event, unfinished, self._told.get(caller, frozenset()))
        if event == STOP:
            self._told[caller] = state_of(unfinished)
            self._told.move_to_end(caller)
            if len(self._told) > MOST_CALLERS:
                self._told.popitem(last=False)
        return hook_result(answer)

    def _of(self, thread: Thread, turns: tuple[Turn, ...], caller: str) -> Iterator[Unfinished]:
        member = self._team.roster.of_thread(thread.id)
        agent = thread.id if member is None else member.agent.identity
        for turn in turns:
            questions = turn.parked.open
            for question_id, question in questions.items():
                yield Unfinished(HookKind.QUESTION, question_id, agent, message_for(question))
            if not turn.ended:
                if not questions:
                    yield Unfinished(HookKind.RUNS, turn.name, agent, turn.record.activity)
            elif not self._waits.was_told(caller, turn):
                yield Unfinished(HookKind.ANSWER, turn.name, agent)
