"""What each agent of this server is doing, for those who follow the topic `agents`.

Rows are compared a few times a second, and told when they differ; only while someone follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from codex_mcp.base.errors import Explained
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import Event
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.control.transcripts import usage_of
from codex_mcp.team.agent import Agent
from codex_mcp.team.records.agent_store import SUMMARY
from codex_mcp.team.records.registry_text import entry_text
from codex_mcp.team.roster import Member
from codex_mcp.threads.record import Status
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.control_agents import LiveRow
from codex_mcp.wire.control_thread import Usage

EVERY: Final = 0.25
"""Seconds between two looks: as often as a person can read a row that changes."""

MAIL_EVERY: Final = 2.0
"""Seconds between two looks into the inboxes, which are files."""

COARSE: Final = 10.0
"""Seconds to which the last sign of life is rounded: a row that differs only in it is told no more often."""

LONGEST: Final = 300
"""Characters of a prompt, an activity or an answer in a row."""

TEXTS: Final = ("task", "doing", "said")


class AgentsWatch:
    def __init__(
        self, inside: Inside, may_see: Callable[[str], bool], tell: Callable[[Mapping[str, object]], None]
    ) -> None:
        self._inside = inside
        self._may_see = may_see
        self._tell = tell
        self._known: dict[str, tuple[Agent, LiveRow]] = {}
        self._began: dict[str, tuple[str, float]] = {}
        """The name of the newest turn of each agent, and when it began."""
        self._heard: dict[str, float] = {}
        self._observed: dict[str, Callable[[str, Event], None]] = {}
        self._mail: dict[str, tuple[int, int]] = {}
        self._tasks = TaskSet()

    def rows(self) -> list[dict[str, object]]:
        """Those of all agents, as they are now."""
        self._known = {each.agent.codex_id: (each.record, self._live(each)) for each in self._members()}
        return [_row(agent, live) for agent, live in self._known.values()]

    def begin(self) -> Callable[[], None]:
        """Tell each row that differs from the last one, until the returned function is called."""
        looking = self._tasks.spawn(self._look(), name="rows of agents")
        counting = self._tasks.spawn(self._count_mail(), name="mail of agents")

        def stop() -> None:
            looking.cancel()
            counting.cancel()
            while self._observed:
                self._inside.threads.observers.remove(*self._observed.popitem())

        return stop

    def _members(self) -> list[Member]:
        return [each for each in self._inside.team.roster if self._may_see(each.agent.principal)]

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            before, now = self._known, {each.agent.codex_id: each for each in self._members()}
            self._known = {codex_id: (each.record, self._live(each)) for codex_id, each in now.items()}
            for codex_id, (agent, _) in before.items():
                if codex_id not in now:
                    self._tell(gone(agent))
            for codex_id, found in self._known.items():
                if before.get(codex_id) != found:
                    self._tell(_row(*found))

    async def _count_mail(self) -> None:
        team = self._inside.team
        while True:
            for member in self._members():
                with contextlib.suppress(Explained):
                    unread = await team.mail.pending(member.mailbox)
                    held = len(await team.injection.held(member)) if unread else 0
                    self._mail[member.agent.codex_id] = unread, held
            await asyncio.sleep(MAIL_EVERY)

    def _live(self, member: Member) -> LiveRow:
        agent, thread = member.agent, member.thread
        unread, held = self._mail.get(agent.codex_id, (0, 0))
        pause = self._inside.team.work.pause(member)
        is_known = thread is not None and thread.is_named
        heard = self._last_sign(agent.codex_id, thread.id) if thread is not None and is_known else agent.last_active
        turns = [] if thread is None else [each for each in thread.turns if each.purpose != SUMMARY]
        turn = turns[-1] if turns else None
        is_busy = thread is None or not thread.idle
        outcome = None if turn is None else turn.outcome
        has_ended = outcome is not None and outcome.status is not Status.RUNNING
        running = None if thread is None else thread.current
        return LiveRow(
            task="" if turn is None else turn.spec.prompt[:LONGEST],
            doing=(running.record.activity if running is not None else "starting")[:LONGEST] if is_busy else "",
            said=outcome.content[:LONGEST] if outcome is not None and has_ended and not is_busy else "",
            since=self._since(agent, turn) if is_busy else agent.last_active,
            heard=heard // COARSE * COARSE,
            closing=member.closing,
            waiting=0 if thread is None else thread.waiting,
            added=0 if outcome is None else sum(each.added or 0 for each in outcome.files),
            removed=0 if outcome is None else sum(each.removed or 0 for each in outcome.files),
            mail=unread,
            held_mail=held,
            paused="" if pause is None else pause.reason,
            paused_until=None if pause is None else pause.until,
            environment=agent.environment if agent.environment and is_elsewhere(agent.environment) else "",
            context=None if thread is None else _context(usage_of(thread.translator.usage)),
        )

    def _since(self, agent: Agent, turn: Turn | None) -> float:
        if turn is None:
            return agent.last_active
        name, began = self._began.get(agent.codex_id, ("", 0.0))
        if name != turn.name:
            began = time.time() - (time.monotonic() - turn.record.began)
            self._began[agent.codex_id] = turn.name, began
        return began

    def _last_sign(self, codex_id: str, thread_id: str) -> float:
        """When something last happened in a thread. It counts from when it is looked at first."""
        if thread_id not in self._observed:

            def observed(_: str, __: Event) -> None:
                self._heard[codex_id] = time.time()

            self._heard.setdefault(codex_id, time.time())
            self._observed[thread_id] = observed
            self._inside.threads.observers.add(thread_id, observed)
        return self._heard[codex_id]


def _context(usage: Usage | None) -> int | None:
    return None if usage is None or not usage.window else min(100, round(100 * usage.context / usage.window))


def _row(agent: Agent, live: LiveRow) -> dict[str, object]:
    row: dict[str, object] = msgspec.json.decode(entry_text(agent))
    said: dict[str, object] = msgspec.to_builtins(live)
    return {**row, **said, **{name: redact(str(said[name])) for name in TEXTS if name in said}}


def gone(agent: Agent) -> dict[str, object]:
    """The row of an agent that this server does not run any more."""
    return {"codex_id": agent.codex_id, "identity": agent.identity, "is_here": False}
