"""The agents that this server runs, by every name that they go by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.team.member import Member

NAMES_KEPT: Final = 1_000
"""Threads whose agents are gone, and of which a late answer may still have to say whose it was."""


class Gone(Struct, frozen=True):
    """What is remembered of a member that this server does not run any longer."""

    names: Mapping[str, object]
    taken_over: bool
    """Another server runs it."""


class Roster:
    """Members by codex_id; few enough to look through for the other names."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._gone: OrderedDict[str, Gone] = OrderedDict()
        self.removed: Callable[[Member], None] = lambda _member: None
        """Told when a member is ours no more."""

    def __repr__(self) -> str:
        return f"<Roster of {len(self._members)}>"

    def __len__(self) -> int:
        """How many there are."""
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        """All of them, as they came."""
        return iter(list(self._members.values()))

    def __contains__(self, member: Member) -> bool:
        """Is it still one of ours?"""
        return self._members.get(member.agent.codex_id) is member

    def add(self, member: Member) -> None:
        """It is ours from now on."""
        self._members[member.agent.codex_id] = member

    def remove(self, member: Member, *, taken_over: bool = False) -> None:
        """This server does not run it any longer, for instance because another server has taken it over."""
        if member in self:
            del self._members[member.agent.codex_id]
        if member.thread_id is not None:
            self._gone[member.thread_id] = Gone(member.names, taken_over)
            if len(self._gone) > NAMES_KEPT:
                self._gone.popitem(last=False)
        self.removed(member)

    def of(self, principal: str) -> list[Member]:
        """Those of this principal."""
        return [member for member in self if member.agent.principal == principal]

    def names(self, thread_id: str) -> Mapping[str, object]:
        """What a result says of a thread's agent, also when that is gone."""
        member = self.of_thread(thread_id)
        if member is not None:
            return member.names
        gone = self._gone.get(thread_id)
        return {} if gone is None else gone.names

    def was_taken_over(self, thread_id: str) -> bool:
        """Does another server run the agent of this thread, which was ours?"""
        gone = self._gone.get(thread_id)
        return gone is not None and gone.taken_over

    def called(self, reference: str, principal: str) -> Member | None:
        """The member of this principal with this codex_id, identity or thread id."""
        for member in self:
            agent = member.agent
            if reference in (agent.codex_id, agent.identity, member.thread_id) and agent.principal == principal:
                return member
        return None

    def of_thread(self, thread_id: str) -> Member | None:
        """The member that this thread is."""
        return next((member for member in self if member.thread_id == thread_id), None)
