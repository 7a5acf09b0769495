"""Callers that wait for a thread are told of its changes, and nothing is kept for those that do not wait any longer."""

import asyncio

from codex_mcp.base.futures import Waiter
from codex_mcp.threads.changes import Changes, Counts


def waiter() -> Waiter:
    return asyncio.get_running_loop().create_future()


async def test_a_change_is_told_to_those_who_watch_its_key_alone() -> None:
    changes, one, two = Changes(), waiter(), waiter()
    changes.watch(["a", "b"], one)
    changes.watch(["b", "c"], two)
    changes.tell("nothing", "a")
    assert (one.done(), two.done()) == (True, False)
    changes.tell("b")
    assert two.done()


async def test_a_watcher_that_does_not_wait_any_longer_leaves_nothing_behind() -> None:
    changes, one, two = Changes(), waiter(), waiter()
    changes.watch(["a", "b"], one)
    changes.watch(["b"], two)
    changes.unwatch(["a", "b", "never"], one)
    changes.unwatch(["a"], one)
    assert len(changes) == 1
    changes.tell("a", "b")
    assert (one.done(), two.done(), len(changes)) == (False, True, 0)


def test_counts_start_at_zero() -> None:
    counts = Counts()
    assert (counts.turns["completed"], counts.decisions["approved"]) == (0, 0)
    counts.turns["completed"] += 1
    assert dict(counts.turns) == {"completed": 1}
    assert dict(Counts().turns) == {}
