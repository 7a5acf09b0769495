"""`codex_unfinished`, for the hooks of our Claude Code plugin: what the caller's agents have left to be collected or
decided. It waits for nothing and changes nothing, and is listed to nobody.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final

from codex_mcp.mcp.asking.elicitation import message_for
from codex_mcp.mcp.calls.waiting import Waits, own_turns
from codex_mcp.mcp.schema.hook_results import STOP, Kind, Unfinished, hook_answer, hook_result, state_of
from codex_mcp.mcp.schema.results import Result
from codex_mcp.team.team import Team
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn

NAME: Final = "codex_unfinished"

CLIENT: Final = "claude-code"
"""The client that has these hooks: answers that its lost sessions left behind are its own."""

MOST_CALLERS: Final = 1_000
"""Callers whose last answer is remembered. One that is forgotten may be told the same again."""


class HookTools:
    def __init__(self, team: Team, threads: Threads, waits: Waits) -> None:
        self._team = team
        self._threads = threads
        self._waits = waits
        self._told: OrderedDict[str, frozenset[str]] = OrderedDict()

    def answer(self, given: Mapping[str, object], principal: str, caller: str) -> Result:
        event = str(given.get("event", ""))
        unfinished = [
            each
            for thread, turns in own_turns(self._threads, principal, caller, CLIENT)
            for each in self._of(thread, turns, caller)
        ]
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
                yield Unfinished(Kind.QUESTION, question_id, agent, message_for(question))
            if not turn.ended:
                if not questions:
                    yield Unfinished(Kind.RUNS, turn.name, agent, turn.record.activity)
            elif not self._waits.was_told(caller, turn):
                yield Unfinished(Kind.ANSWER, turn.name, agent)
