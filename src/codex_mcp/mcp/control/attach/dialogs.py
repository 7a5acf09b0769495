"""What Codex asks, shown in a TUI: each question of the board is one dialog, and the first answer of all counts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

import msgspec
from msgspec import Raw

from codex_mcp.mcp.control.attach.answers import decision_of, of_thread, patch_item
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed
from codex_mcp.rpc.peer import Peer, PendingCall
from codex_mcp.threads.open_questions import Board
from codex_mcp.threads.questions.board import Entry
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.questions.questions import PatchQuestion
from codex_mcp.wire.jsonrpc import Id, Request

logger = logging.getLogger(__name__)

NOT_READ = "the answer could not be read, and decides nothing; the question is still open"


class Shown(Protocol):
    """The conversation, as the TUI has it."""

    def has_patch(self, item_id: str) -> bool: ...


class Dialogs:
    def __init__(
        self,
        peer: Peer,
        board: Board,
        thread_id: str,
        asked: Callable[[Id | None], Request | None],
        decide: Callable[[Entry, Decision], str],
    ) -> None:
        """`asked` returns what Codex has asked; `decide` gives the answer, and says why it was not used."""
        self._peer = peer
        self._board = board
        self._thread_id = thread_id
        self._asked = asked
        self._decide = decide
        self._open: dict[str, PendingCall] = {}
        self._stop: Callable[[], None] | None = None
        self._shown: Shown | None = None

    def begin(self, shown: Shown) -> None:
        """Ask what is open, and what Codex asks from now on. May be called again."""
        self._shown = shown
        if self._stop is None:
            self._stop = self._board.watch(self._changed)
        for entry in self._board.open_questions():
            self._changed(entry)

    def stop(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None
        for pending in self._open.values():
            self._peer.forget(pending)
        self._open.clear()

    def _changed(self, entry: Entry) -> None:
        if entry.thread != self._thread_id:
            return
        if entry.receipt is not None:
            self._close(entry.id)
        elif entry.id not in self._open:
            self._ask(entry)

    def _ask(self, entry: Entry) -> None:
        request = self._asked(entry.request)
        if request is None or self._shown is None:
            return  # it is on the board, for other ways to answer it
        question = entry.question
        if isinstance(question, PatchQuestion) and not self._shown.has_patch(question.item_id):
            about = {
                "threadId": self._thread_id,
                "turnId": question.turn_id,
                "startedAtMs": round(entry.asked_at * 1000),
            }
            self._peer.notify("item/started", {**about, "item": patch_item(question)})
        params = of_thread(request.params, self._thread_id, question.asker)
        pending = self._open[entry.id] = self._peer.start(request.method, params)
        pending.answer.add_done_callback(partial(self._answered, entry))

    def _answered(self, entry: Entry, answer: asyncio.Future[Raw]) -> None:
        if answer.cancelled() or isinstance(answer.exception(), ConnectionLost) or entry.id not in self._open:
            return
        if answer.exception() is not None:
            assert isinstance(answer.exception(), RequestFailed)
            logger.info("a TUI cannot show a question: %s", answer.exception())
            return
        decision = decision_of(entry.question, msgspec.json.decode(answer.result()))
        said = NOT_READ if decision is None else self._decide(entry, decision)
        if said:
            self._peer.notify("warning", {"threadId": self._thread_id, "message": said})

    def _close(self, question_id: str) -> None:
        pending = self._open.pop(question_id, None)
        if pending is not None:
            self._peer.forget(pending)
            self._peer.notify("serverRequest/resolved", {"threadId": self._thread_id, "requestId": pending.id})
