"""Pure. The turns of one thread. One runs at a time; the others wait in order: urgent ones, those of callers, mail.

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

A prompt that steers joins the running turn, its host. Once the model goes on after reading it, the two end together:

    state     cancel           core refuses     recorded   model goes on  host completed         host ended otherwise
    --------  ---------------  ---------------  ---------  -------------  ---------------------  --------------------
    JOINING   ENDED, Conclude  WAITING, Return  RECORDED   no change      WAITING, Return        WAITING, Return
    RECORDED  ENDED, Conclude  no change        no change  SHARING        WAITING, Return(said)  ENDED, Share
    SHARING   ENDED, Conclude  no change        no change  no change      ENDED, Share           ENDED, Share

Before its host has started, a prompt waits to be sent (`Steer`). A recorded prompt is in the conversation, but a core
that was just finishing may end the turn without asking the model again: the prompt then needs a turn without a text.
A returned prompt is urgent. A prompt whose host is being stopped does not join; it is urgent at once. Urgent mail comes
before other mail, and after all callers, unless the conversation contains it already.

A shut queue drops the waiting turns and the JOINING ones, stops the running one, and accepts only a last turn. A
RECORDED prompt then ends with its host.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.codex.core import When

PAST_IDS: Final = 64
"""Ids of ended turns that are remembered; the core sends no news of a turn after this many others."""


CLOSED: Final = "the thread was closed before this turn could begin"


class TurnQueueState(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ABANDONED = "abandoned"
    JOINING = "joining"
    RECORDED = "recorded"
    SHARING = "sharing"
    ENDED = "ended"


JOINED: Final = (TurnQueueState.JOINING, TurnQueueState.RECORDED, TurnQueueState.SHARING)
"""The states of a prompt that steers another turn."""

STOPPED: Final = (TurnQueueState.STOPPING, TurnQueueState.ABANDONED)


class Source(StrEnum):
    CALLER = "caller"
    MAIL = "mail"
    CODEX = "codex"
    """Codex began it by itself."""


class QueuePlace:
    __slots__ = ("interrupt_sent", "is_said", "is_urgent", "source", "state", "turn_id")

    def __init__(self, source: Source = Source.CALLER) -> None:
        self.source = source
        self.is_urgent = False
        self.is_said = False
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


class Steer(Struct, frozen=True):
    """Ask the core to add this prompt to the running turn."""

    place: QueuePlace
    host: QueuePlace


class Share(Struct, frozen=True):
    """This prompt has ended with its host; tell its callers the outcome of the host."""

    place: QueuePlace
    host: QueuePlace


class Return(Struct, frozen=True):
    """This prompt did not join, and waits as a turn of its own. `said`: the conversation contains it already."""

    place: QueuePlace
    said: bool = False


class Remind(Struct, frozen=True):
    """This turn must start before it can be stopped; call `overdue` when its caller has waited long enough."""

    place: QueuePlace


class Conclude(Struct, frozen=True):
    """This turn has ended for its callers; tell them."""

    place: QueuePlace


class Leave(Struct, frozen=True):
    """This turn was concluded earlier, and now the core is done with it as well."""

    place: QueuePlace


Action: TypeAlias = Start | Interrupt | Steer | Share | Return | Remind | Conclude | Leave


class QueueFull(Exception):
    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class QueueShut(Exception):
    """The queue accepts no more turns."""


class TurnQueue:
    def __init__(self, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self.current: QueuePlace | None = None
        """The turn that the core has."""
        self._waiting: deque[QueuePlace] = deque()
        self.joined: list[QueuePlace] = []
        """Prompts that are to join the current turn, or have joined it."""
        self._past: deque[str] = deque(maxlen=PAST_IDS)
        self._shut = False

    def __repr__(self) -> str:
        return f"<TurnQueue {self.current!r}, {len(self._waiting)} waiting>"

    @property
    def idle(self) -> bool:
        """No turn runs and none waits."""
        return self.current is None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def shut(self) -> list[Action]:
        """Accept no more turns, drop the waiting ones, stop the running one."""
        self._shut = True
        waiting = [*self._waiting, *(place for place in self.joined if place.state is TurnQueueState.JOINING)]
        self._waiting.clear()
        self.joined = [place for place in self.joined if place not in waiting]
        for place in waiting:
            place.state = TurnQueueState.ENDED
        stopping = [] if self.current is None else self.cancel(self.current)
        return [*(Conclude(place) for place in waiting), *stopping]

    def open(self) -> None:
        self._shut = False

    def offer(self, place: QueuePlace, when: When = When.QUEUE, *, last: bool = False) -> list[Action]:
        """Add a turn; a shut queue accepts only a `last` one. Raises QueueFull, QueueShut."""
        if self._shut and not last:
            raise QueueShut
        current = self.current
        if current is None:
            return self._begin(place)
        if len(self._waiting) + len(self.joined) >= self._max_waiting:
            raise QueueFull(self._max_waiting)
        if when is When.STEER and current.state not in STOPPED:
            place.state = TurnQueueState.JOINING
            self.joined.append(place)
            return [Steer(place, current)] if current.state is TurnQueueState.RUNNING else []
        place.is_urgent = when is not When.QUEUE
        self._waiting.append(place)
        return self.cancel(current) if when is When.INTERRUPT else []

    def expect(self, place: QueuePlace) -> None:
        """Codex begins this turn by itself, now or soon. No turn runs or waits."""
        self.current = place
        place.state = TurnQueueState.STARTING

    def begin_expected(self, place: QueuePlace) -> list[Action]:
        """This turn was expected, and has not begun: begin it now, unless it is being stopped."""
        return [Start(place)] if place.state is TurnQueueState.STARTING else self.start_failed(place)

    def is_current(self, turn_id: str) -> bool:
        current = self.current
        return current is not None and current.turn_id in ("", turn_id) and turn_id not in self._past

    @property
    def is_shut(self) -> bool:
        return self._shut

    def knows(self, turn_id: str) -> bool:
        """Whether this is the current turn, or one of the latest that have ended."""
        return turn_id in self._past or (self.current is not None and self.current.turn_id == turn_id)

    def accepted(self, turn_id: str, place: QueuePlace) -> bool:
        """The core has answered turn/start. False: it added the prompt to an earlier turn."""
        if turn_id in self._past and place.turn_id != turn_id:
            return False
        if place is self.current:
            place.turn_id = turn_id
        return True

    def started(self, turn_id: str) -> list[Action]:
        current = self.current
        if current is None or not self.is_current(turn_id):
            return []
        current.turn_id = turn_id
        if current.state is TurnQueueState.STARTING:
            current.state = TurnQueueState.RUNNING
            return [Steer(place, current) for place in self.joined]
        if current.state in STOPPED and not current.interrupt_sent:
            current.interrupt_sent = True
            return [Interrupt(current)]
        return []

    def missed(self, turn_id: str) -> None:
        """A turn has ended that Codex began by itself, and that is none of these: no prompt can join it any more."""
        self._past.append(turn_id)

    def start_failed(self, place: QueuePlace) -> list[Action]:
        return self._conclude(place)

    def cancel(self, place: QueuePlace) -> list[Action]:
        if place.state is TurnQueueState.WAITING and place in self._waiting:
            self._waiting.remove(place)
            place.state = TurnQueueState.ENDED
            return [Conclude(place)]
        if place in self.joined:
            self.joined.remove(place)
            place.state = TurnQueueState.ENDED
            return [Conclude(place)]
        if place is not self.current or place.state in STOPPED:
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

    def refused(self, place: QueuePlace) -> list[Action]:
        """The core did not add this prompt to the current turn."""
        if place not in self.joined or place.state is not TurnQueueState.JOINING:
            return []
        self.joined.remove(place)
        return [self._returned(place)]

    def recorded(self, place: QueuePlace) -> None:
        """The core has put this prompt into the conversation."""
        if place in self.joined and place.state is TurnQueueState.JOINING:
            place.state = TurnQueueState.RECORDED

    def model_went_on(self, turn_id: str) -> None:
        """The model has reacted: it has read every prompt that was recorded before."""
        if not self.is_current(turn_id):
            return
        for place in self.joined:
            if place.state is TurnQueueState.RECORDED:
                place.state = TurnQueueState.SHARING

    def ended(self, turn_id: str, *, completed: bool = True) -> list[Action]:
        current = self.current
        if current is None or not self.is_current(turn_id):
            return []
        current.turn_id = turn_id
        return self._conclude(current, completed=completed)

    def given_up(self, place: QueuePlace) -> list[Action]:
        """The core took too long to announce its end."""
        return self._conclude(place)

    def lost(self) -> list[Action]:
        """The core has ended, and with it the current and all waiting turns."""
        gone = [*([self.current] if self.current else []), *self.joined, *self._waiting]
        self.current = None
        self.joined = []
        self._waiting.clear()
        return [self._over(place) for place in gone]

    def _begin(self, place: QueuePlace) -> list[Action]:
        self.current = place
        place.state = TurnQueueState.STARTING
        return [Start(place)]

    def _conclude(self, place: QueuePlace, *, completed: bool = False) -> list[Action]:
        if place is not self.current:
            return []
        self.current = None
        actions = [self._over(place)]
        joined, self.joined = self.joined, []
        actions += [self._parted(each, place, completed=completed) for each in joined]
        if self._waiting:
            following = min(self._waiting, key=_rank)  # the first of those that are equal
            self._waiting.remove(following)
            actions += self._begin(following)
        return actions

    def _parted(self, place: QueuePlace, host: QueuePlace, *, completed: bool) -> Action:
        """What becomes of a prompt whose host has ended."""
        said = place.state is TurnQueueState.RECORDED
        if not self._shut and (place.state is TurnQueueState.JOINING or (said and completed)):
            return self._returned(place, said=said)
        place.state = TurnQueueState.ENDED
        return Share(place, host)

    def _returned(self, place: QueuePlace, *, said: bool = False) -> Return:
        place.state = TurnQueueState.WAITING
        place.is_urgent, place.is_said = True, said
        self._waiting.append(place)
        return Return(place, said)

    def _over(self, place: QueuePlace) -> Action:
        known = place.state is TurnQueueState.ABANDONED
        place.state = TurnQueueState.ENDED
        self._past.append(place.turn_id)
        return Leave(place) if known else Conclude(place)


def _rank(place: QueuePlace) -> tuple[bool, bool]:
    return place.source is Source.MAIL and not place.is_said, not place.is_urgent
