"""One conversation of one client: its messages become turns of a thread, its listeners get events and questions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from codex_mcp.base.futures import in_time
from codex_mcp.base.logs import Subject
from codex_mcp.base.tasks import spawn
from codex_mcp.codex.core import Event
from codex_mcp.conversations.approval_requests import ApprovalRequest, approval_request, decision_of
from codex_mcp.conversations.events import Endings, Submissions, told
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed
from codex_mcp.threads.questions.board import Answer, Via, denied, expired
from codex_mcp.threads.questions.decisions import failed
from codex_mcp.threads.questions.questions import Question
from codex_mcp.wire.conversations import ListenerEvent

if TYPE_CHECKING:
    from codex_mcp.codex.core import TurnSpec
    from codex_mcp.conversations.caller import Caller
    from codex_mcp.conversations.listeners import Listener, Listeners
    from codex_mcp.threads.thread import Thread
    from codex_mcp.threads.threads import Threads
    from codex_mcp.threads.turn import Turn

logger = logging.getLogger(__name__)

WITHDRAWN: Final = "the question is no longer open"
NOT_IN_TIME: Final = "no answer in time"
NO_REQUEST: Final = "no one could be asked: the conversation methods have no request for such a question"


class SharedParts(Struct, frozen=True):
    """What all conversations share."""

    threads: Threads
    listeners: Listeners[Caller]
    timeout: float
    """After so many seconds a question is denied."""
    caller_lost: Callable[[Caller], None]
    """To be called for a caller whose connection is gone."""


class Conversation:
    """The audience of the turns that its owner asks for."""

    def __init__(self, thread_id: str, caller: Caller, shared: SharedParts) -> None:
        self.id = thread_id
        self.owner = caller.owner
        self.principal = caller.principal
        self.shared = caller.sees_history
        self.subject: Subject = caller.subject
        self.label = ""
        self._threads = shared.threads
        self._listeners = shared.listeners
        self._timeout = shared.timeout
        self._caller_lost = shared.caller_lost
        self._submissions = Submissions()
        self._endings = Endings()
        self._observes = False
        self._heard = asyncio.Event()
        """Set while there is a listener to ask."""

    def __repr__(self) -> str:
        return f"<Conversation {self.id}: {len(self._listeners.of(self.owner, self.id))} listeners>"

    def submit(self, thread: Thread, spec: TurnSpec) -> None:
        """Raises QueueFull, QueueShut or Refused."""
        turn = thread.submit(spec, self, full_events=False)
        turn.mark_delivered()  # its outcome is told by events
        self._submissions.of(turn.name)
        spawn(self._follow(turn), name=f"end of a message to {self.id}")

    async def _follow(self, turn: Turn) -> None:
        """Tell the listeners of an end of which Codex has sent no event: it died, or could not begin the turn."""
        await turn.wait()
        await turn.left.wait()  # an interrupted turn may end later than its caller is told
        turn_id = turn.place.turn_id or turn.name
        for msg in self._endings.missing(turn_id, turn.outcome):
            self._threads.observers.tell(self.id, Event(turn_id, msg))

    def interrupted(self) -> None:
        self._submissions.count()

    def listeners_changed(self) -> None:
        """A listener to the thread was added or removed, by this owner or another."""
        has_listener = bool(self._listeners.of(self.owner, self.id))
        if has_listener and not self._observes:
            self._threads.observers.add(self.id, self._observed)
        elif not has_listener and self._observes:
            self._threads.observers.remove(self.id, self._observed)
        self._observes = has_listener
        if self._to_ask() is not None:
            self._heard.set()
        else:
            self._heard.clear()

    @property
    def is_heard(self) -> bool:
        """There is a listener that can be asked."""
        return self._to_ask() is not None

    def cancel_messages(self) -> None:
        """Stop the turns of this owner, those that wait first."""
        thread = self._threads.open_thread(self.id)
        if thread is not None:
            for turn in reversed(thread.unfinished()):
                if turn.audience is self:
                    thread.cancel(turn)

    def _to_ask(self) -> Listener[Caller] | None:
        """The owner's newest listener, or else the newest of another session of its principal."""
        own = self._listeners.of(self.owner, self.id)
        others = [each for each in self._listeners.to(self.id) if each.caller.principal == self.principal]
        return next(reversed(own or others), None)

    def _observed(self, thread_id: str, event: Event) -> None:
        number = self._number(event.turn_id)
        for msg in told(event):
            params = ListenerEvent(id=number, msg=msg, conversation_id=self.id)
            for listener in self._listeners.of(self.owner, self.id):
                listener.caller.notify(f"codex/event/{msg['type']}", params)

    def _number(self, turn_id: str) -> str:
        if turn_id in self._submissions:  # a turn that Codex has not begun
            return self._submissions.of(turn_id)
        thread = self._threads.open_thread(self.id)
        turn = None
        if thread is not None and turn_id:
            turn = thread.turn(turn_id) or thread.turn_named(turn_id)
        return "" if turn is None else self._submissions.of(turn.name)

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Remember how the turn ended. The listeners observe the thread."""
        self._endings.note(event)

    def activity_changed(self, activity: str) -> None:
        """Nothing to do: 0.42.0 has no progress."""

    async def ask(self, question: Question, turn: Turn) -> Answer:
        request = approval_request(question, self.id)
        if request is None:
            return denied(NO_REQUEST)
        try:
            async with asyncio.timeout(self._timeout) as limit:
                answer = await self._ask(question, request, turn, limit)
        except TimeoutError:
            answer = expired(self._timeout) if self._heard.is_set() else self._unheard()
        self._submissions.count()
        return answer

    def _unheard(self) -> Answer:
        why = f"no one could be asked: the conversation had no listener within {self._timeout:g} seconds"
        return denied(why, Via.TIMEOUT)

    async def _ask(self, question: Question, request: ApprovalRequest, turn: Turn, limit: asyncio.Timeout) -> Answer:
        while True:
            while (listener := self._to_ask()) is None:
                self._heard.clear()
                await self._heard.wait()
            caller = listener.caller
            pending = caller.ask(request.method, request.params)
            try:
                with turn.parked.asking(question, caller.principal, Via.CONVERSATION):
                    answer = await in_time(pending.answer, limit)
                decision = decision_of(question, msgspec.json.decode(answer))
                return Answer(decision, caller.principal, Via.CONVERSATION)
            except asyncio.CancelledError:
                caller.withdraw(pending, NOT_IN_TIME if limit.expired() else WITHDRAWN)
                raise
            except RequestFailed as exc:
                return Answer(failed(exc.error.message))
            except ConnectionLost:
                self._caller_lost(caller)  # its session is about to be closed; the next listener is asked
