"""Pure. The turns of one thread. One runs at a time; the others wait in order, turns of callers before those of mail.

    state of a turn  cancel              overdue              started(id)     ended(id)  start failed  lost
    ---------------  ------------------  -------------------  --------------  ---------  ------------  ---------
    WAITING          ENDED, never began  -                    -               -          -             ENDED
    STARTING         STOPPING, Remind    -                    RUNNING         ENDED      ENDED         ENDED
    RUNNING          STOPPING, Interrupt no change            no change       ENDED      -             ENDED
    STOPPING         no change           ABANDONED, Conclude  Interrupt, once ENDED      ENDED         ENDED
    ABANDONED        no change           no change            Interrupt, once ENDED      ENDED         ENDED
    ENDED            no change           no change            no change       no change  no change     no change

A turn that becomes ENDED is concluded, unless it was concluded earlier: then the core is now done with it (`Leave`). A
turn is abandoned when its caller has waited long enough for its end. It still keeps its place: while the core may send
news of it under an id that we do not know, no other turn may start.

The answer to turn/start (`accepted`) only names the id. The core accepts an interrupt only after it has announced the
turn (`started`). The id of another turn changes nothing: late news of an ended turn must not affect the current one,
even while that has no id yet. Each method returns the actions to perform next.

A shut queue drops the waiting turns, stops the running one, and accepts only a last turn.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

PAST_IDS: Final = 64
"""Ids of ended turns that are remembered; the core sends no news of a turn after this many others."""


class TurnQueueState(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ABANDONED = "abandoned"
    ENDED = "ended"


class Source(StrEnum):
    CALLER = "caller"
    MAIL = "mail"


class QueuePlace:
    __slots__ = ("interrupt_sent", "source", "state", "turn_id")

    def __init__(self, source: Source = Source.CALLER) -> None:
        self.source = source
        self.state = TurnQueueState.WAITING
        self.turn_id = ""
        self.interrupt_sent = False

    def __repr__(self) -> str:
        return f"<QueuePlace {self.state} {self.turn_id}>"


class Start(Struct, frozen=True):
    """Ask the core to start this turn."""

    place: QueuePlace


class Interrupt(Struct, frozen=True):
    """Ask the core to stop this turn."""

    place: QueuePlace


class Remind(Struct, frozen=True):
    """This turn must start before it can be stopped; call `overdue` when its caller has waited long enough."""

    place: QueuePlace


class Conclude(Struct, frozen=True):
    """This turn has ended for its callers; tell them."""

    place: QueuePlace


class Leave(Struct, frozen=True):
    """This turn was concluded earlier, and now the core is done with it as well."""

    place: QueuePlace


Action: TypeAlias = Start | Interrupt | Remind | Conclude | Leave


class QueueFull(Exception):
    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class QueueShut(Exception):
    """The queue accepts no more turns."""


class TurnQueue:
    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._current: QueuePlace | None = None
        self._waiting: deque[QueuePlace] = deque()
        self._past: deque[str] = deque(maxlen=PAST_IDS)
        self._shut = False

    def __repr__(self) -> str:
        return f"<TurnQueue {self._current!r}, {len(self._waiting)} waiting>"

    @property
    def current(self) -> QueuePlace | None:
        return self._current

    @property
    def idle(self) -> bool:
        """No turn runs and none waits."""
        return self._current is None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def shut(self) -> list[Action]:
        """Accept no more turns, drop the waiting ones, stop the running one."""
        self._shut = True
        waiting = list(self._waiting)
        self._waiting.clear()
        for place in waiting:
            place.state = TurnQueueState.ENDED
        stopping = [] if self._current is None else self.cancel(self._current)
        return [*(Conclude(place) for place in waiting), *stopping]

    def open(self) -> None:
        self._shut = False

    def offer(self, place: QueuePlace, *, last: bool = False) -> list[Action]:
        """Add a turn; a shut queue accepts only a `last` one. Raises QueueFull, QueueShut."""
        if self._shut and not last:
            raise QueueShut
        if self._current is None:
            return self._begin(place)
        if len(self._waiting) >= self._max_waiting:
            raise QueueFull(self._max_waiting)
        self._waiting.append(place)
        return []

    def is_current(self, turn_id: str) -> bool:
        current = self._current
        return current is not None and current.turn_id in ("", turn_id) and turn_id not in self._past

    def accepted(self, turn_id: str, place: QueuePlace) -> bool:
        """The core has answered turn/start. False: it added the prompt to an earlier turn."""
        if turn_id in self._past and place.turn_id != turn_id:
            return False
        if place is self._current:
            place.turn_id = turn_id
        return True

    def started(self, turn_id: str) -> list[Action]:
        current = self._current
        if current is None or not self.is_current(turn_id):
            return []
        current.turn_id = turn_id
        if current.state is TurnQueueState.STARTING:
            current.state = TurnQueueState.RUNNING
        elif current.state in (TurnQueueState.STOPPING, TurnQueueState.ABANDONED) and not current.interrupt_sent:
            current.interrupt_sent = True
            return [Interrupt(current)]
        return []

    def start_failed(self, place: QueuePlace) -> list[Action]:
        return self._conclude(place)

    def cancel(self, place: QueuePlace) -> list[Action]:
        if place.state is TurnQueueState.WAITING and place in self._waiting:
            self._waiting.remove(place)
            place.state = TurnQueueState.ENDED
            return [Conclude(place)]
        if place is not self._current or place.state in (TurnQueueState.STOPPING, TurnQueueState.ABANDONED):
            return []
        place.interrupt_sent = place.state is TurnQueueState.RUNNING
        place.state = TurnQueueState.STOPPING
        return [Interrupt(place) if place.interrupt_sent else Remind(place)]

    def overdue(self, place: QueuePlace) -> list[Action]:
        """The caller that cancelled it has waited long enough for its end."""
        if place.state is not TurnQueueState.STOPPING:
            return []
        place.state = TurnQueueState.ABANDONED
        return [Conclude(place)]

    def ended(self, turn_id: str) -> list[Action]:
        current = self._current
        if current is None or not self.is_current(turn_id):
            return []
        current.turn_id = turn_id
        return self._conclude(current)

    def given_up(self, place: QueuePlace) -> list[Action]:
        """The core took too long to announce its end."""
        return self._conclude(place)

    def lost(self) -> list[Action]:
        """The core has ended, and with it the current and all waiting turns."""
        gone = [*([self._current] if self._current else []), *self._waiting]
        self._current = None
        self._waiting.clear()
        return [self._over(place) for place in gone]

    def _begin(self, place: QueuePlace) -> list[Action]:
        self._current = place
        place.state = TurnQueueState.STARTING
        return [Start(place)]

    def _conclude(self, place: QueuePlace) -> list[Action]:
        if place is not self._current:
            return []
        self._current = None
        actions = [self._over(place)]
        if self._waiting:
            following = next((each for each in self._waiting if each.source is Source.CALLER), self._waiting[0])
            self._waiting.remove(following)
            actions += self._begin(following)
        return actions

    def _over(self, place: QueuePlace) -> Action:
        known = place.state is TurnQueueState.ABANDONED
        place.state = TurnQueueState.ENDED
        self._past.append(place.turn_id)
        return Leave(place) if known else Conclude(place)
