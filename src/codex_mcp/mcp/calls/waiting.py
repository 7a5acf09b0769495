"""`codex_wait`: blocks until one of several agents has news that was not reported to the caller before.

`news` decides. There is no await between a decision and the note of what is reported, so that of two waits of
one caller only one reports a piece of news.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.news import News, NewsKind, Reported, WaitMode, WaitVerdict, verdict
from codex_mcp.threads.changes import Changes
from codex_mcp.threads.record import Outcome
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.glances import Glance, Part
from codex_mcp.wire.jsonrpc import Id

LONGEST_IDLE: Final = 45.0
"""Seconds that a wait without a time limit lasts while all of its agents are idle: another caller may give one of them
a prompt, or never do so."""


class AgentNews(Struct, frozen=True):
    """A pause or a close, or the answer to a turn of an earlier server."""

    news: News
    told: dict[str, object]
    """What the result says about it."""
    outcome: Outcome | None = None
    """Of the turn of an earlier server; `told` has the names of its agent."""


class WatchedAgent(Struct, frozen=True):
    """The current state of an agent that a wait is about."""

    keys: tuple[str, ...]
    """The keys of `Changes` that concern it."""
    turns: tuple[Turn, ...] = ()
    facts: tuple[AgentNews, ...] = ()

    @property
    def newest(self) -> Turn | None:
        """The turn that ended last."""
        return next((turn for turn in reversed(self.turns) if turn.ended), None)

    def is_latest(self, news: News) -> bool:
        """Is this what `again` returns? Of several answers, that is the last."""
        if news.kind is not NewsKind.ANSWER or any(fact.news == news for fact in self.facts):
            return True
        return self.newest is not None and self.newest.name == news.key

    def news(self) -> list[News]:
        """Everything that may be news for a caller."""
        answers = [News(NewsKind.ANSWER, turn.name) for turn in self.turns if turn.ended]
        questions = [News(NewsKind.QUESTION, key) for turn in self.turns for key in question_keys(turn)]
        return [*answers, *questions, *(fact.news for fact in self.facts)]


class WaitView(Protocol):
    """The agents that a wait is about."""

    async def prepare(self) -> None:
        """Look up what takes time. Changes from now on are announced by the keys of `early`."""

    @property
    def early(self) -> Iterable[str]:
        """The keys of changes that concern what `prepare` looks up."""

    def watched(self) -> list[WatchedAgent]:
        """The agents as they are now."""


class FarView(Protocol):
    """The agents of other servers that a wait is about."""

    @property
    def news(self) -> Sequence[News]:
        """What is news, by its kind."""

    @property
    def runs(self) -> bool:
        """Something runs there, or it is not known yet whether anything does."""

    def watch(self, waiter: asyncio.Future[None]) -> None:
        """Resolve this at the next change."""


class Wait(Struct, frozen=True):
    """What a caller waits for."""

    view: WaitView
    mode: WaitMode = WaitMode.FIRST
    again: bool = False
    """Report again what was reported before."""
    timeout: float | None = None
    is_named: bool = True
    """It names agents. Otherwise it is about the caller's own work, and returns at once if there is none."""
    far: FarView | None = None
    """What it sees of other servers, if it is about agents of several."""
    part: Part | None = None
    """It looks at our part of a wait for another server."""

    @property
    def is_glance(self) -> bool:
        """It ends once our part is not as that server knows it."""
        return self.part is not None and not self.part.collects


class FoundNews(Struct, frozen=True):
    """What a wait has found."""

    finished: list[Turn]
    running: list[Turn]
    facts: list[AgentNews]
    unchanged: list[Turn]
    """Ended turns whose answers were reported before."""
    questions: frozenset[str]
    """Keys of the questions that are news."""
    glance: Glance = Glance()
    """All of it, as another server is told."""


NOTHING: Final = FoundNews([], [], [], [], frozenset())


def question_keys(turn: Turn) -> list[str]:
    """The ids of a turn's listed questions."""
    return list(turn.parked.open)


def turns_of(thread: Thread, caller: str) -> tuple[Turn, ...]:
    """The turns of a thread that concern a caller who names it.

    These are its own turns, those that run, those whose answers were not delivered, and the newest.
    """
    return tuple(
        turn
        for turn in thread.turns
        if turn.is_wanted and (turn.is_for(caller) or not turn.ended or not turn.delivered or turn is thread.newest)
    )


class _InFlight:
    """A wait that runs."""

    __slots__ = ("caller", "keys")

    def __init__(self, caller: str) -> None:
        self.caller = caller
        self.keys: frozenset[str] = frozenset()


class Waits:
    """Carries out waits, and records what was reported to which caller."""

    def __init__(self, threads: Threads) -> None:
        self._reported = Reported()
        self._changes: Changes = threads.changes
        self._callers = threads.callers
        self._in_flight: list[_InFlight] = []

    async def wait(self, call: Call, wait: Wait) -> FoundNews:
        """Wait for news. The caller must call `report` before its next await."""
        if not wait.is_named and wait.far is None and wait.part is None and not wait.view.watched():
            return NOTHING
        in_flight = _InFlight(call.caller)
        self._in_flight.append(in_flight)
        try:
            return await self._wait(call, wait, in_flight)
        finally:
            self._in_flight.remove(in_flight)

    def is_waited_for(self, caller: str, key: str) -> bool:
        """Does a running wait of this caller concern this thread or agent?"""
        return any(each.caller == caller and key in each.keys for each in self._in_flight)

    async def _wait(self, call: Call, wait: Wait, in_flight: _InFlight) -> FoundNews:
        while True:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            keys = list(wait.view.early)
            self._changes.watch(keys, waiter)
            try:
                await wait.view.prepare()
                watched = wait.view.watched()
                in_flight.keys = frozenset(key for each in watched for key in each.keys)
                seen, decided = self._looked(call, wait, watched)
                patience = _patience(call, wait, decided)
                if decided is WaitVerdict.REPORT or patience == 0:
                    return seen
                more = [call.caller, *in_flight.keys]
                self._changes.watch(more, waiter)
                keys += more
                if wait.far is not None:
                    wait.far.watch(waiter)
                for turn in seen.running:
                    turn.watch(waiter)
                    turn.parked.watch_next(waiter)
                if not await call.wait_for(waiter, patience):
                    return self._looked(call, wait, wait.view.watched())[0]
            finally:
                waiter.cancel()
                self._changes.unwatch(keys, waiter)

    def _looked(self, call: Call, wait: Wait, watched: Sequence[WatchedAgent]) -> tuple[FoundNews, WaitVerdict]:
        fresh = {
            news.key: news
            for each in watched
            for news in each.news()
            if not self._reported.has(call.caller, news.key) or (wait.again and each.is_latest(news))
        }
        # An agent may be named twice, for instance by two of its names.
        turns = list(dict.fromkeys(turn for each in watched for turn in each.turns))
        facts = {fact.news.key: fact for each in watched for fact in each.facts}
        newest = dict.fromkeys(each.newest for each in watched)
        seen = FoundNews(
            finished=[turn for turn in turns if turn.name in fresh],
            running=[turn for turn in turns if not turn.ended],
            facts=[fact for key, fact in facts.items() if key in fresh],
            unchanged=[turn for turn in newest if turn is not None and turn.name not in fresh],
            questions=frozenset(key for key, news in fresh.items() if news.kind is NewsKind.QUESTION),
        )
        if wait.is_glance:
            seen = replace(seen, glance=Glance(bool(seen.questions), bool(fresh), bool(seen.running), bool(watched)))
            assert wait.part is not None
            return seen, WaitVerdict.WAIT if seen.glance == wait.part.known else WaitVerdict.REPORT
        far, runs = ((), False) if wait.far is None else (wait.far.news, wait.far.runs)
        return seen, verdict([*fresh.values(), *far], wait.mode, runs=bool(seen.running) or runs)

    def begun(self, call: Call, turn: Turn) -> None:
        """Make this turn the caller's own work, unless another caller asked for it first."""
        turn.attribute_to(call.caller)
        if turn.thread_id:
            self._callers.note(call.caller, turn.thread_id)
        self._changes.tell(call.caller, turn.thread_id)

    def report(self, call: Call, finished: Sequence[Turn], others: Iterable[str] = ()) -> None:
        """Note that a call is answered with these turns, and with other news of these keys."""
        can_deliver, news = call.can_deliver, [*(turn.name for turn in finished), *others]
        if can_deliver:
            for turn in finished:
                turn.mark_delivered()
        self._reported.add(call.caller, call.request_id, news, is_read=can_deliver)

    def collected(self, caller: str, request_id: Id, turn: Turn) -> None:
        """Note that this request is answered with the outcome of a turn."""
        turn.mark_delivered()
        self._reported.add(caller, request_id, [turn.name])

    def was_told(self, caller: str, turn: Turn) -> bool:
        """Has this caller received the end of this turn?"""
        return self._reported.has(caller, turn.name)

    def stopped(self, call: Call, turn: Turn) -> None:
        """Note that the caller stopped this turn by cancelling its call: its end is not news for this caller."""
        turn.mark_delivered()
        self._reported.add(call.caller, (call.request_id, "cancelled"), [turn.name])

    def caller_left(self, caller: str, client: str) -> None:
        """Let other sessions of this client collect what the ended or lost session of this caller has not."""
        self._callers.left(caller, client)

    def caller_came(self, caller: str) -> None:
        """Its session is there, and collects by itself what it asked for."""
        self._callers.came(caller)

    def answer_lost(self, caller: str, request_id: Id) -> None:
        """Make the contents of an answer news again that did not reach its caller."""
        if self._reported.revoke(caller, request_id):
            self._changes.tell(caller)

    def answer_read(self, caller: str, request_id: Id) -> None:
        """The caller has come back and reads the answer after all: what it contains is no news any more."""
        self._reported.restore(caller, request_id)

    def still_open(self, call: Call, keys: Iterable[str]) -> None:
        """Make these questions news again for a caller that has not answered them."""
        self._reported.forget(call.caller, keys)


def _patience(call: Call, wait: Wait, decided: WaitVerdict) -> float | None:
    """Seconds to wait; None means no limit."""
    if wait.is_glance:  # the other server decides how long
        return None
    if wait.timeout == 0 or (decided is WaitVerdict.IDLE and not wait.is_named):
        return 0
    patience = call.patience(wait.timeout)
    if decided is not WaitVerdict.IDLE or wait.timeout is not None:
        return patience
    idle = call.patience(LONGEST_IDLE)
    return idle if patience is None or idle is None else min(patience, idle)


class NamedThreads:
    """The threads with these ids, even if they are unloaded: they may be loaded again."""

    early: tuple[str, ...] = ()

    def __init__(
        self, threads: Threads, call: Call, chosen: Sequence[Thread], stored: Mapping[str, AgentNews] | None = None
    ) -> None:
        """`stored`: the last answers of threads that are not open here, by their ids."""
        self._threads = threads
        self._call = call
        self._chosen = {thread.id: thread for thread in chosen}
        self._stored = stored or {}

    async def prepare(self) -> None:
        """Nothing to look up."""

    def watched(self) -> list[WatchedAgent]:
        for thread_id in self._chosen:
            self._chosen[thread_id] = self._threads.known(thread_id, self._call.principal) or self._chosen[thread_id]
        for thread_id in self._stored:
            if (opened := self._threads.known(thread_id, self._call.principal)) is not None:
                self._chosen[thread_id] = opened
        chosen = [WatchedAgent((thread.id,), turns_of(thread, self._call.caller)) for thread in self._chosen.values()]
        stored = ((key, fact) for key, fact in self._stored.items() if key not in self._chosen)
        return [*chosen, *(WatchedAgent((key,), facts=(fact,)) for key, fact in stored)]


def own_turns(
    threads: Threads, principal: str, caller: str, client: str | None = None
) -> list[tuple[Thread, tuple[Turn, ...]]]:
    """The turns that this caller asked for, by thread, and those that lost sessions of this client did not collect.

    Some clients open a session for each call, and any may be killed. None stands for any client.
    """
    left = threads.callers.left_by(client)

    def is_own(turn: Turn) -> bool:
        return turn.is_for(caller) or (not turn.delivered and turn.caller in left)

    found = [(thread, tuple(filter(is_own, thread.turns))) for thread in threads.of(principal)]
    return [(thread, turns) for thread, turns in found if turns]


class OwnThreads:
    """The caller's own work."""

    early: tuple[str, ...] = ()

    def __init__(self, threads: Threads, call: Call) -> None:
        self._threads = threads
        self._whose = call.principal, call.caller, call.client_name

    async def prepare(self) -> None:
        """Nothing to look up."""

    def watched(self) -> list[WatchedAgent]:
        return [WatchedAgent((thread.id,), turns) for thread, turns in own_turns(self._threads, *self._whose)]
