"""What one connection is told of the threads and questions that it follows, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.futures import Waiter
from codex_mcp.codex.core import Event
from codex_mcp.mcp.control.agents import AgentsWatch, gone
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.control.live_steps import LiveSteps
from codex_mcp.mcp.control.questions import Questions
from codex_mcp.mcp.control.rows import Row, RowsWatch
from codex_mcp.mcp.control.topics import looks
from codex_mcp.mcp.control.transcripts import Found, Transcripts
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.team.records.registry_text import entry_text
from codex_mcp.team.roster import Member
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Request

MOST_TOPICS: Final = 64

ROWS: Final[Mapping[str, str]] = {
    control.MAIL: control.LETTER,
    control.ENVIRONMENTS: control.ENVIRONMENT,
    control.HEALTH: control.SAMPLE,
}
"""Topics of rows, and the kind of their events."""

WHOLE: Final = (control.QUESTIONS, control.AGENTS, *ROWS)
"""Topics that are not about one thread."""

KINDS: Final[Mapping[str, str]] = {
    "task_started": "turn",
    "task_complete": "turn",
    "turn_aborted": "turn",
    "agent_message": "item.ended",
    "agent_reasoning": "item.ended",
    "user_message": "item.ended",
    "token_count": "usage",
    "plan_update": "plan",
}
ENDINGS: Final = (("_begin", "item.started"), ("_delta", "item.text"), ("_end", "item.ended"))
"""How the types of other events end, and their kind."""


class Following:
    def __init__(
        self,
        notify: Callable[[str, object], None],
        inside: Inside,
        questions: Questions,
        may_see: Callable[[str], bool],
        principal: Callable[[], str | None],
    ) -> None:
        """`may_see` tells whether a principal's agents may be followed; `principal` is whose, or None."""
        self._principal = principal
        self._questions = questions
        self.transcripts = Transcripts(inside, may_see)
        self._notify = notify
        self._inside = inside
        self._may_see = may_see
        self._count = 0
        self._stops: dict[str, Callable[[], None]] = {}

    async def follow(self, request: Request) -> object:
        asked = msgspec.json.decode(request.params, type=control.Follow)
        found = {topic: self._found(topic) for topic in asked.topics if topic not in WHOLE}
        if len({*self._stops, *asked.topics}) > MOST_TOPICS:
            raise invalid_params(f"a connection can follow {MOST_TOPICS} topics")
        for topic in (*asked.topics, *asked.leave):
            self._stops.pop(topic, _nothing)()
        rows: dict[str, list[Row]] = {}
        members = [each.member for each in found.values() if each.member is not None]
        agents = [msgspec.json.decode(entry_text(member.record)) for member in members]
        for topic in asked.topics:
            if topic in ROWS:
                rows[topic] = await self._rows(topic)
            elif topic == control.AGENTS:
                watch = AgentsWatch(
                    self._inside, self._may_see, lambda row: self._tell(control.AGENTS, control.AGENT, row)
                )
                agents += watch.rows()
                self._stops[topic] = watch.begin()
            elif topic == control.QUESTIONS:
                self._stops[topic] = self._questions.watch(partial(self._tell, topic))
            else:
                self._stops[topic] = self._begin(topic, found[topic], steps=asked.steps)
        questions = self._questions.open_questions() if control.QUESTIONS in asked.topics else []
        answered = self._questions.answered() if control.QUESTIONS in asked.topics else []
        return control.Followed(at=self._at(), agents=agents, questions=questions, answered=answered, **rows)

    async def _rows(self, topic: str) -> list[Row]:
        """Those of a topic as they are now; those that differ later are told."""
        look, every = looks(topic, self._inside, self._principal())
        watch = RowsWatch(look, every, lambda row: self._tell(topic, ROWS[topic], row))
        found = await watch.rows()
        self._stops.pop(topic, _nothing)()
        self._stops[topic] = watch.begin()
        return found

    def stop(self) -> None:
        while self._stops:
            self._stops.popitem()[1]()

    def _found(self, topic: str) -> Found:
        """Raises RequestFailed."""
        if not topic.startswith(control.THREAD):
            raise invalid_params(
                f"{topic[:100]} cannot be followed here; {', '.join(WHOLE)} and {control.THREAD}NAME can"
            )
        return self.transcripts.find(topic.removeprefix(control.THREAD))

    def _begin(self, topic: str, found: Found, *, steps: bool) -> Callable[[], None]:
        member, observers = found.member, self._inside.threads.observers
        stops: list[Callable[[], None]] = []
        if member is not None:
            stops.append(
                RemovalWatch(self._inside, member, lambda: self._tell(topic, control.AGENT, gone(member.agent))).stop
            )
        if steps:
            live = LiveSteps(partial(self._tell, topic), self._resync)
            stops += [observers.add_reader(found.thread_id, live.message_received), live.stop]
        else:

            def observed(_: str, event: Event) -> None:
                self._tell(topic, kind_of(str(event.msg.get("type"))), event.msg)

            observers.add(found.thread_id, observed)
            stops.append(partial(observers.remove, found.thread_id, observed))

        def stop() -> None:
            for each in stops:
                each()

        return stop

    def _resync(self, reason: str) -> None:
        self._notify(control.RESYNC, {"reason": reason})

    def _tell(self, topic: str, kind: str, data: Mapping[str, object] | Struct) -> None:
        self._count += 1
        self._notify(control.EVENT, control.Event(at=self._at(), topic=topic, kind=kind, data=data))

    def _at(self) -> str:
        return f"{self._inside.team.session.owner.node}.{self._count}"


class RemovalWatch:
    """Calls `gone` when this server does not run an agent any longer."""

    def __init__(self, inside: Inside, member: Member, gone: Callable[[], None]) -> None:
        self._inside = inside
        self._member = member
        self._gone = gone
        self._wait()

    def _wait(self) -> None:
        self._changed: Waiter = asyncio.get_running_loop().create_future()
        self._changed.add_done_callback(self._look)
        self._inside.threads.changes.watch([self._member.agent.codex_id], self._changed)

    def _look(self, changed: Waiter) -> None:
        if changed.cancelled():
            return
        if self._member in self._inside.team.roster:
            self._wait()
        else:
            self._gone()

    def stop(self) -> None:
        self._inside.threads.changes.unwatch([self._member.agent.codex_id], self._changed)
        self._changed.cancel()


def kind_of(event_type: str) -> str:
    return KINDS.get(event_type) or next((kind for end, kind in ENDINGS if event_type.endswith(end)), "event")


def _nothing() -> None:
    pass
