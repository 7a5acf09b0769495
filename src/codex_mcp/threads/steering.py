"""Prompts that steer the running turn of a thread: sent to the core, and followed until the model has read them.

`turn_queue.TurnQueue` decides what becomes of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from codex_mcp.base.logs import stay_about
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex import facts
from codex_mcp.codex.core import CannotSteer, CoreError
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Action, QueuePlace, Source, TurnQueue

logger = logging.getLogger(__name__)

OF_THE_MODEL = (
    facts.MessageSaid,
    facts.MessageStreamed,
    facts.CommandStarted,
    facts.ToolStarted,
    facts.TokensCounted,
    facts.ErrorReported,
)
"""What the core reports only after it has asked the model again. Commands of earlier requests may end at any time."""


class Steering:
    """The queue decides, and `perform` carries out its actions."""

    def __init__(
        self, queue: TurnQueue, perform: Callable[[list[Action]], None], turns: Mapping[QueuePlace, Turn]
    ) -> None:
        self._queue = queue
        self._perform = perform
        self._turns = turns
        self._tasks = TaskSet()

    def begin(self, turn: Turn) -> None:
        self._tasks.spawn(self._send(turn), name=f"steering of {turn.thread_id}")

    async def _send(self, turn: Turn) -> None:
        stay_about(turn.subject)
        host = turn.joins
        if host is None or host.core is None:
            self._perform(self._queue.refused(turn.place))
            return
        turn.sent()
        try:
            await host.core.steer_turn(host.thread_id, host.place.turn_id, turn.spec.input, turn.name)
        except CoreError as exc:
            if isinstance(exc, CannotSteer) and turn.place.source is Source.CALLER:
                self._tell_caller(turn, exc)
                return
            logger.info("turn %s was not steered: %s", host.place.turn_id, exc)
            self._perform(self._queue.refused(turn.place))
        else:
            logger.info("turn %s is steered", host.place.turn_id)

    def _tell_caller(self, turn: Turn, why: CannotSteer) -> None:
        if turn.joins is not None and not turn.ended:
            turn.give_up(f"{why}; wait for it with codex_wait, or send the prompt with `when: interrupt`")
            self._perform(self._queue.cancel(turn.place))

    def fact_received(self, fact: facts.TurnFact) -> None:
        """To be called while a turn is steered."""
        if isinstance(fact, facts.PromptHeard):
            for turn in self._turns.values():
                if turn.name == fact.message_id:
                    turn.confirm()
                    self._queue.recorded(turn.place)
        elif isinstance(fact, OF_THE_MODEL):
            self._queue.model_went_on(fact.turn_id)

    async def aclose(self) -> None:
        await self._tasks.aclose()
