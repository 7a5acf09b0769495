"""Adds urgent mail to the running turn of an agent, if the setting `steer_urgent_mail` says so.

The mail counts as delivered when the core has confirmed that the turn takes it. If the turn takes no input, the mail
waits for the next turn.
"""

from __future__ import annotations

import logging

from codex_mcp.codex.core import NotSteerable
from codex_mcp.mail.delivery.budgets import next_hops
from codex_mcp.mail.delivery.handover import Batch
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import TurnQueueState
from codex_mcp.wire.app.requests import TextInput

logger = logging.getLogger(__name__)


class Steering:
    def __init__(self) -> None:
        self._hops: dict[str, int] = {}
        """Of mail that is sent in a turn after it was steered, by the turn's name."""

    def hops_in(self, turn: Turn) -> int:
        return self._hops.get(turn.name, 0)

    def turn_concluded(self, turn: Turn) -> None:
        self._hops.pop(turn.name, None)

    async def take(self, thread: Thread, turn: Turn, batch: Batch) -> bool:
        """Whether the turn has taken this mail. Raises CoreError: then it is not certain."""
        core, before = turn.core, self.hops_in(turn)
        if core is None or not is_running(thread, turn):
            return False
        self._hops[turn.name] = max(before, next_hops(batch.messages))  # first: the agent may answer at once
        try:
            await core.steer_turn(thread.id, turn.place.turn_id, [TextInput(batch.text)])
        except NotSteerable as exc:
            logger.info("urgent mail for agent %s waits for the end of its turn: %s", batch.to.agent, exc)
            self._hops[turn.name] = before
            return False
        finally:
            if turn.ended:
                self.turn_concluded(turn)
        return True


def is_running(thread: Thread, turn: Turn) -> bool:
    return turn is thread.current and not turn.ended and turn.place.state is TurnQueueState.RUNNING
