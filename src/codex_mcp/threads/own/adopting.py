"""Makes turns of what Codex does by itself in one thread, so that it is seen, asked, limited and stopped like others.

    Codex                                     the thread has no turn        it has a turn of Codex's that has not begun
    ----------------------------------------  ----------------------------  -------------------------------------------
    begins a turn that nobody asked for       a turn of its own, begun      that turn has begun
    has an active goal, or works in a         a turn that is expected: the  no change
    sub-agent                                 thread is busy
    is quiet                                  -                             that turn has ended
    is given a prompt                         -                             that turn has ended, and the prompt begins

A goal has one such turn after the other. Only the last one is news for callers that wait, with the tokens of all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from codex_mcp.codex.facts import MessageSaid, Tokens, TurnEnded, TurnStarted
from codex_mcp.threads.own.unasked import Unasked
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import STOPPED, Action, Source, TurnQueue

EXPECTED: Final = 30.0
"""Seconds in which Codex begins the next turn of an active goal, here or in a sub-agent. It usually takes some
hundredths of a second."""


class Adopting:
    def __init__(
        self,
        unasked: Unasked,
        queue: TurnQueue,
        perform: Callable[[list[Action]], None],
        new_turn: Callable[[], Turn],
        last_words: Callable[[], str],
    ) -> None:
        """`new_turn` opens a turn of the thread for what nobody asked for; `last_words` says that it has ended."""
        self._unasked = unasked
        self._queue = queue
        self._perform = perform
        self._new_turn = new_turn
        self._last_words = last_words
        self._last: Turn | None = None
        self._untold: Tokens | None = None
        """What turns before the next one have used, if that is the first after a prompt."""
        self._watching: asyncio.TimerHandle | None = None

    def turn_started(self, current: Turn | None, fact: TurnStarted) -> None:
        """A turn has begun; adopt it if it is not one of ours."""
        if current is None and not self._queue.knows(fact.turn_id) and self._may_adopt:
            self._adopt()

    def settle(self, current: Turn | None) -> None:
        """To be called after whatever changes what Codex does by itself."""
        if current is None and not self._unasked.is_quiet and self._may_adopt:
            self._adopt()
        elif current is not None and _is_expected(current) and self._unasked.is_quiet:
            self._end(current)

    @property
    def _may_adopt(self) -> bool:
        """Otherwise it is being stopped."""
        return not (self._queue.is_shut or self._unasked.is_stopping or self._unasked.is_stopped)

    @staticmethod
    def has_begun(current: Turn | None) -> bool:
        """A turn runs, or is about to begin because of a prompt."""
        return current is not None and not current.ended and not _is_expected(current)

    def make_way(self, current: Turn | None) -> None:
        """A prompt has come: a turn that has not begun is not waited for."""
        if current is not None and _is_expected(current):
            self._last, self._untold = None, current.untold
            current.mark_delivered()
            self._end(current)

    def is_news(self, turn: Turn) -> bool:
        """Whether callers that wait are told of this turn."""
        if turn.place.source is not Source.CODEX or not turn.ended:
            return True
        return turn is self._last and self._unasked.is_quiet

    def _adopt(self) -> None:
        turn = self._new_turn()
        turn.record.follows(self._untold if self._last is None else self._last.untold)
        if self._last is not None:
            self._last.mark_delivered()
        self._last, self._untold = turn, None
        self._watch(turn)

    def _watch(self, turn: Turn) -> None:
        """Look whether anything has begun by then. Its time limit is another thing: it also ends what goes on."""
        self.close()
        self._watching = asyncio.get_running_loop().call_later(EXPECTED, self._look, turn, self._unasked.begun)

    def _look(self, turn: Turn, begun: int) -> None:
        if turn.ended or not _is_expected(turn):
            return
        if self._unasked.has_turns or self._unasked.begun != begun:
            self._watch(turn)
        else:
            self._unasked.lost()  # another client may have stopped the goal
            self._end(turn)

    def _end(self, turn: Turn) -> None:
        if turn.place.state not in STOPPED:
            turn.add(MessageSaid("", self._last_words()))
            turn.add(TurnEnded("", "completed", None))
        self._perform(self._queue.start_failed(turn.place))

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()


def _is_expected(turn: Turn) -> bool:
    return turn.place.source is Source.CODEX and not turn.place.turn_id
