"""Pure. Whose turn is it? A thread runs one turn at a time; the others wait in the order in which they came, what
callers ask for before what mail brings.

    state of a turn  cancel              overdue              started(id)     ended(id)  start failed  lost
    ---------------  ------------------  -------------------  --------------  ---------  ------------  ---------
    WAITING          ENDED, never began  -                    -               -          -             ENDED
    STARTING         STOPPING, Remind    -                    RUNNING         ENDED      ENDED         ENDED
    RUNNING          STOPPING, Interrupt no change            no change       ENDED      -             ENDED
    STOPPING         no change           ABANDONED, Conclude  Interrupt, once ENDED      ENDED         ENDED
    ABANDONED        no change           no change            Interrupt, once ENDED      ENDED         ENDED
    ENDED            no change           no change            no change       no change  no change     no change

Whatever becomes ENDED is concluded, unless it was before: then the core is done with it now (`Leave`). A turn is
abandoned when its caller has waited long enough for its end. It keeps its place all the same: as long as the core may
have news of it under an id that we do not know, no other turn may begin.

The answer to turn/start (`accepted`) names the id, no more: only after its own announcement (`started`) does the core
let a turn be interrupted. An id that belongs to another turn changes nothing: late news of a turn that has ended must
not touch the one that runs now, not even while that one has no id yet. Each method returns what is to be done next.

Closing goes before everything: a shut queue gives up what waits, stops what runs, and takes nothing but a last turn.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

PAST_IDS: Final = 64
"""Ids of ended turns that are remembered; the core has nothing to say of a turn that many turns later."""


class TurnQueueState(StrEnum):
    """Where a turn stands."""

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ABANDONED = "abandoned"
    ENDED = "ended"


class Source(StrEnum):
    """Who wants a turn."""

    CALLER = "caller"
    MAIL = "mail"


class QueuePlace:
    """One turn's place in the queue. Its identity is the turn's."""

    __slots__ = ("interrupt_sent", "source", "state", "turn_id")

    def __init__(self, source: Source = Source.CALLER) -> None:
        self.source = source
        self.state = TurnQueueState.WAITING
        self.turn_id = ""
        self.interrupt_sent = False

    def __repr__(self) -> str:
        return f"<QueuePlace {self.state} {self.turn_id}>"


class Start(Struct, frozen=True):
    """Ask the core to begin this turn."""

    place: QueuePlace


class Interrupt(Struct, frozen=True):
    """Ask the core to stop this turn."""

    place: QueuePlace


class Remind(Struct, frozen=True):
    """This turn cannot be stopped before it has begun; say `overdue` when its caller has waited long enough."""

    place: QueuePlace


class Conclude(Struct, frozen=True):
    """This turn is over for those who wait for it; tell them."""

    place: QueuePlace


class Leave(Struct, frozen=True):
    """This turn was concluded before, and now the core is done with it as well."""

    place: QueuePlace


Action: TypeAlias = Start | Interrupt | Remind | Conclude | Leave


class QueueFull(Exception):
    """The most turns that may wait are waiting."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class QueueShut(Exception):
    """No turn is taken any longer."""


class TurnQueue:
    """The turns of one thread."""

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
        """The turn that the core has, if any."""
        return self._current

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return self._current is None

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def is_shut(self) -> bool:
        """It takes no turn any longer."""
        return self._shut

    def shut(self) -> list[Action]:
        """Take no turn any longer, give up what waits, stop what runs."""
        self._shut = True
        waiting = list(self._waiting)
        self._waiting.clear()
        for place in waiting:
            place.state = TurnQueueState.ENDED
        stopping = [] if self._current is None else self.cancel(self._current)
        return [*(Conclude(place) for place in waiting), *stopping]

    def open(self) -> None:
        """Take turns again."""
        self._shut = False

    def offer(self, place: QueuePlace, *, last: bool = False) -> list[Action]:
        """A new turn; a shut queue takes only the `last` one. Raises QueueFull, QueueShut."""
        if self._shut and not last:
            raise QueueShut
        if self._current is None:
            return self._begin(place)
        if len(self._waiting) >= self._max_waiting:
            raise QueueFull(self._max_waiting)
        self._waiting.append(place)
        return []

    def is_current(self, turn_id: str) -> bool:
        """Does this id belong to the turn that the core has now?"""
        current = self._current
        return current is not None and current.turn_id in ("", turn_id) and turn_id not in self._past

    def accepted(self, turn_id: str, place: QueuePlace) -> bool:
        """The core has answered our request for this turn. False: it has put the prompt into a turn of the past."""
        if turn_id in self._past and place.turn_id != turn_id:
            return False
        if place is self._current:
            place.turn_id = turn_id
        return True

    def started(self, turn_id: str) -> list[Action]:
        """The core announces that it has begun the turn."""
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
        """The core refused to begin it."""
        return self._conclude(place)

    def cancel(self, place: QueuePlace) -> list[Action]:
        """Whoever asked for it does not want it any longer."""
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
        """Whoever does not want it any longer has waited long enough for its end."""
        if place.state is not TurnQueueState.STOPPING:
            return []
        place.state = TurnQueueState.ABANDONED
        return [Conclude(place)]

    def ended(self, turn_id: str) -> list[Action]:
        """The core says that this turn is over."""
        current = self._current
        if current is None or not self.is_current(turn_id):
            return []
        current.turn_id = turn_id
        return self._conclude(current)

    def given_up(self, place: QueuePlace) -> list[Action]:
        """We waited long enough for the core to say that it is over."""
        return self._conclude(place)

    def lost(self) -> list[Action]:
        """The core is gone, and everything that it had or would have had."""
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
