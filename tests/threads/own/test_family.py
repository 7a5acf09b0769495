"""Whose sub-agent a thread is: learned from the turn of ours that led to it."""

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.codex.facts import ThreadUnloaded, TurnStarted
from codex_mcp.threads.own.family import Family


class Ours:
    """A thread that remembers the last turn only."""

    def __init__(self, thread_id: str, turn_id: str) -> None:
        self.id = thread_id
        self.last = turn_id

    def had_turn(self, turn_id: str) -> bool:
        return turn_id == self.last


def test_a_subagent_that_starts_another_one_long_after_its_turn_still_belongs_to_the_thread() -> None:
    family, ours, other = Family(), Ours("ours", "first"), Ours("other", "x")
    family.told("one", [other, ours], None, TurnStarted("a", "first"))
    ours.last = "second"
    family.told("two", [other, ours], None, TurnStarted("b", "first"))
    family.told("three", [other, ours], None, TurnStarted("c", "unknown"))
    assert [family.ancestor(each, ["ours"]) for each in ("one", "two", "three")] == ["ours", "ours", "three"]


def test_a_thread_of_ours_has_no_parent_and_one_that_is_unloaded_is_forgotten() -> None:
    family, ours = Family(), Ours("ours", "first")
    family.told("ours", [ours], None, TurnStarted("first", "first"))
    family.told("one", [ours], None, TurnStarted("a", "first"))
    assert (family.ancestor("ours", []), family.ancestor("one", [])) == ("ours", "ours")
    assert family.own("ours") == "ours"
    with pytest.raises(Refused, match="one is a sub-agent of thread ours"):
        family.own("one")
    family.told("one", [ours], None, ThreadUnloaded())
    assert family.ancestor("one", []) == "one"
    family.told("one", [ours], None, TurnStarted("b", "first"))
    family.clear()
    assert family.ancestor("one", []) == "one"
