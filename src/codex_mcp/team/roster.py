"""The agents that this server runs: each with its record, claim and thread, found by any of its names.

Other objects read the attributes of a Member, and change them only through its methods.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.git import Checkout, checkout_around
from codex_mcp.base.settings.environments import is_elsewhere
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.state.contract import Claim
from codex_mcp.team import people
from codex_mcp.team.agent import (
    Agent,
    AgentState,
    Mailbox,
    RequestKey,
    mailbox_of,
    names_of,
    with_request,
    without_request,
)
from codex_mcp.team.limits import AgentUsage
from codex_mcp.team.member_parts import NextTurn, Requested, Spent, WrittenQuestions
from codex_mcp.team.people import PersonAct
from codex_mcp.team.profile.context import Surroundings
from codex_mcp.threads.record import Outcome
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn, tokens_so_far

NAMES_KEPT: Final = 1_000
"""Threads of former members whose names are remembered, for late answers about them."""


class Member:
    def __init__(
        self, agent: Agent, *, told: Surroundings | None = None, summed_up: bool = True, usage: AgentUsage | None = None
    ) -> None:
        self.agent = agent
        self.claim: Claim | None = None
        self.thread: Thread | None = None
        self.life = asyncio.Lock()
        """Held while the agent is started, resumed or closed."""
        self.closing = False
        self.told = told
        """What the model was last told about its surroundings."""
        self.next_turn = NextTurn()
        self.requested = Requested()
        self.questions = WrittenQuestions()
        self.spent = Spent(usage or AgentUsage())
        self.summed_up = summed_up
        """It has had no turn since its last summary."""
        self.reviews: list[Thread] = []
        """Threads that review its work."""
        self.people: tuple[PersonAct, ...] = ()
        """What persons have lately done to it at a terminal, the newest last."""
        self._has_had_turn = False

    @property
    def state(self) -> AgentState:
        if self.thread is None:
            return AgentState.CLOSED if not self.agent.is_active else AgentState.BUSY  # it is being started
        return AgentState.IDLE if self.thread.idle else AgentState.BUSY

    @property
    def thread_id(self) -> str | None:
        """Of its thread, which an old Codex names only with its first turn."""
        return self.agent.thread_id if self.thread is None else self.thread.id

    @property
    def record(self) -> Agent:
        state = self.state if self.agent.is_active else AgentState.CLOSED
        running = self.running_tokens if state is AgentState.BUSY or self.reviews else 0
        tokens = self.agent.tokens + running
        return replace(self.agent, thread_id=self.thread_id, thread_state=state, tokens=tokens)

    @property
    def running_tokens(self) -> int:
        """What turns have used that have not ended, those of its reviews included."""
        return tokens_so_far(self.reviews if self.thread is None else [self.thread, *self.reviews])

    def review_opened(self, thread: Thread) -> None:
        self.reviews = [*(each for each in self.reviews if not each.idle), thread]

    async def stop_reviews(self) -> None:
        """Stop the turns that review its work, and wait for their end, which takes no longer than the grace period."""
        turns = [turn for thread in self.reviews for turn in thread.unfinished()]
        for thread in self.reviews:
            thread.cancel_all()
        await asyncio.gather(*(turn.wait() for turn in turns))

    @property
    def mailbox(self) -> Mailbox:
        return mailbox_of(self.agent)

    @property
    def names(self) -> dict[str, object]:
        return names_of(self.agent)

    def change(self, **changes: object) -> None:
        self.agent = replace(self.agent, thread_id=self.thread_id, **changes)

    def touch(self, **changes: object) -> None:
        self.change(last_active=time.time(), **changes)

    def restore(self, agent: Agent) -> None:
        self.agent = agent

    def take_claim(self, claim: Claim) -> None:
        self.claim = claim

    def give_up_claim(self) -> Claim | None:
        """This server does not own it any longer. Returns the claim."""
        claim, self.claim = self.claim, None
        return claim

    def attach(self, thread: Thread, **changes: object) -> None:
        self.thread = thread
        thread.belongs_to(self.agent.identity or self.agent.codex_id)
        self.change(cwd=thread.cwd, **changes)

    def detach(self) -> Thread | None:
        thread, self.thread = self.thread, None
        return thread

    def begin_closing(self) -> bool:
        """Stop its turns and take no more. Returns whether it was busy."""
        was_busy = self.thread is not None and not self.thread.idle
        if self.thread is not None and not self.closing:
            self.thread.shut()
        self.closing = True
        return was_busy

    def update_surroundings(self) -> Surroundings:
        """Look where it works now, and count that as told to the model."""
        cwd = self.agent.cwd
        # A folder on another machine cannot be looked at. On this one it takes a dozen looks at small files, which
        # costs less than a thread would.
        found = Checkout() if is_elsewhere(self.agent.environment) else checkout_around(cwd)
        self.told = Surroundings(found.root, found.name, found.branch, cwd)
        self.change(repo_root=found.root, repo_name=found.name, branch=found.branch)
        return self.told

    def remember_request(self, request: RequestKey) -> None:
        """Add a request to the record before its turn begins. If there are too many, the oldest is dropped."""
        before = self.agent.requests
        self.agent = with_request(self.agent, request)
        for gone in set(before) - set(self.agent.requests):
            self.requested.forget(gone.id)

    def drop_request(self, request: RequestKey) -> None:
        self.agent = without_request(self.agent, request.id)

    def turn_submitted(self, turn: Turn, request: RequestKey | None, settings: TeamSettings) -> bool:
        """Count a turn. Returns whether it is the first one on this server."""
        if turn.joins is None:
            self.count_turn(turn, settings)
        if request is not None:
            self.requested.begun(request.id, turn)
        is_first, self._has_had_turn = not self._has_had_turn, True
        return is_first

    def count_turn(self, turn: Turn | None, settings: TeamSettings) -> None:
        """Count this turn, or one that Codex has begun by itself."""
        self.spent.count_turn(settings, time.time(), "" if turn is None else turn.name)
        self.touch(turns=self.agent.turns + 1)

    def count_tokens(self, tokens: int) -> None:
        self.spent.count_tokens(tokens)
        self.change(tokens=self.agent.tokens + tokens)

    def has_new_work(self) -> None:
        """A turn was queued: its last summary is out of date."""
        self.summed_up = False

    def turn_concluded(self, turn: Turn, outcome: Outcome, tokens: int) -> None:
        """Count the tokens of a turn, and keep its outcome for the store if its call may be repeated."""
        if self.spent.turn_ended(turn.name, has_begun=turn.record.has_begun):
            self.change(turns=self.agent.turns - 1)
        self.count_tokens(tokens)
        self.change(cost=self.agent.cost + (outcome.cost or 0.0))
        self.requested.ended(turn, outcome)

    def has_summed_up(self) -> None:
        self.summed_up = True

    def note_person(self, act: PersonAct) -> None:
        self.people = (*self.people, act)[-people.MOST_KEPT :]


class FormerMember(Struct, frozen=True):
    names: Mapping[str, object]
    taken_over: bool


class Roster:
    """Members by codex_id, and by the threads that they were last found by. `removed` is told of each removal."""

    def __init__(self, removed: Callable[[Member], None] = lambda _: None) -> None:
        self._members: dict[str, Member] = {}
        self._by_thread: dict[str, Member] = {}
        """A guess that is checked: a thread of an old Codex gets another id, and an agent can get another thread."""
        self._former: OrderedDict[str, FormerMember] = OrderedDict()
        self._removed = removed

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self._members.values()))

    def __contains__(self, member: Member) -> bool:
        return self._members.get(member.agent.codex_id) is member

    def add(self, member: Member) -> None:
        self._members[member.agent.codex_id] = member

    def remove(self, member: Member, *, taken_over: bool = False) -> None:
        """Remove a member, and remember its names; `taken_over` by another server."""
        if member in self:
            del self._members[member.agent.codex_id]
        self._by_thread = {key: each for key, each in self._by_thread.items() if each is not member}
        if member.thread_id is not None:
            self._former[member.thread_id] = FormerMember(member.names, taken_over)
            if len(self._former) > NAMES_KEPT:
                self._former.popitem(last=False)
        self._removed(member)

    def of(self, principal: str) -> list[Member]:
        return [member for member in self if member.agent.principal == principal]

    def names(self, thread_id: str) -> Mapping[str, object]:
        """The fields by which results name the agent of a thread, even after its removal."""
        member = self.of_thread(thread_id)
        if member is not None:
            return member.names
        former = self._former.get(thread_id)
        return {} if former is None else former.names

    def was_taken_over(self, thread_id: str) -> bool:
        former = self._former.get(thread_id)
        return former is not None and former.taken_over

    def called(self, reference: str, principal: str) -> Member | None:
        """The member of this principal with this codex_id, identity or thread id."""
        for member in self:
            agent = member.agent
            if reference in (agent.codex_id, agent.identity, member.thread_id) and agent.principal == principal:
                return member
        return None

    def of_thread(self, thread_id: str) -> Member | None:
        guess = self._by_thread.get(thread_id)
        if guess is not None and guess in self and guess.thread_id == thread_id:
            return guess
        found = next((member for member in self if member.thread_id == thread_id), None)
        if found is not None:
            self._by_thread[thread_id] = found
        return found
