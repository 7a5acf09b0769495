"""The last answer of a thread that an earlier server ran: nobody may have collected it before that server ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from codex_mcp.base.errors import Explained
from codex_mcp.mcp.calls.waiting import AgentNews
from codex_mcp.mcp.news import News, NewsKind
from codex_mcp.threads.record import Outcome, Status
from codex_mcp.threads.threads import Threads
from codex_mcp.wire.app.history import ListTurns, StoredTurn, TurnPage, last_answer, read_items
from codex_mcp.wire.app.items import UserMessage

NEWEST: Final = 3
"""Turns that are looked at: the summary of an agent that was closed comes after its last answer."""

FROM_RECORD: Final = (
    "This server does not run this thread now: the answer is from Codex's own record, without tokens and changed files."
)

ENDS: Final = {"completed": Status.COMPLETED, "failed": Status.FAILED, "interrupted": Status.INTERRUPTED}


class StoredAnswers:
    def __init__(self, threads: Threads, passed_over: Sequence[str] = ()) -> None:
        """`passed_over`: prompts of the server itself, whose answers are no caller's."""
        self._threads = threads
        self._passed_over = frozenset(passed_over)
        self._began = time.time()

    def is_earlier(self, moment: float) -> bool:
        """Whether this was before this server began. Of later turns it knows itself whether they were collected."""
        return moment < self._began

    async def newest(self, thread_id: str, names: Mapping[str, object]) -> AgentNews | None:
        """The newest turn of a thread that is not open here, if it has ended. Codex may be started for that."""
        with contextlib.suppress(Explained):
            core = await self._threads.supervisor.core()
            raw = await core.request("thread/turns/list", ListTurns(thread_id, NEWEST), Raw)
            found = msgspec.json.decode(raw, type=TurnPage).data
            turn = next((turn for turn in found if not self._is_own(turn)), None)
            if turn is not None and turn.status in ENDS:
                return AgentNews(News(NewsKind.ANSWER, f"stored {turn.id}"), dict(names), _outcome(thread_id, turn))
        return None

    def _is_own(self, turn: StoredTurn) -> bool:
        said = (item for item in read_items(turn) if isinstance(item, UserMessage))
        return any(part.text in self._passed_over for message in said for part in message.content)


def _outcome(thread_id: str, turn: StoredTurn) -> Outcome:
    why = "" if turn.error is None else turn.error.message
    return Outcome(
        thread_id=thread_id,
        status=ENDS[turn.status],
        content=(why if turn.status == "failed" else "") or last_answer([turn]),
        activity="",
        usage=None,
        files=(),
        seconds=(turn.duration_ms or 0) / 1000,
        warnings=(FROM_RECORD,),
    )
