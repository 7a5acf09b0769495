"""When a subscriber is told, and of what."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import Event
from codex_mcp.mcp.resources.subscriptions import (
    DELAY,
    MAX_SUBSCRIPTIONS,
    PAUSE,
    Subscriptions,
    concerns,
    thread_source,
    wait,
)
from codex_mcp.mcp.resources.uris import ResourceAddress, ThreadView
from codex_mcp.threads.observers import Observers
from tests.support.patience import PATIENCE

ID = "01a1e831-dce0-70c0-9750-9b26e0022257"
CHANGE = Event("", {"type": "task_complete"})


@pytest.mark.parametrize(
    ("kind", "views"),
    [
        ("agent_message", {ThreadView.TRANSCRIPT, ThreadView.ANSWER, ThreadView.ROLLOUT}),
        ("agent_message_delta", set()),
        ("token_count", set()),
        ("patch_apply_end", set(ThreadView) - {ThreadView.ANSWER}),
        ("task_complete", set(ThreadView)),
    ],
)
def test_an_event_concerns_the_views_that_it_changes(kind: str, views: set[ThreadView]) -> None:
    assert {view for view in ThreadView if concerns(view, kind)} == views


@given(st.floats(0, 1e6), st.none() | st.floats(0, 1e6))
def test_two_notifications_are_never_closer_than_the_pause(now: float, told_at: float | None) -> None:
    seconds = wait(now, told_at)
    assert seconds >= DELAY
    if told_at is not None:
        assert now + seconds >= told_at + PAUSE - 1e-6


async def test_many_events_are_one_notification_and_the_last_event_has_one_after_it() -> None:
    observers = Observers()
    told: asyncio.Queue[str] = asyncio.Queue()
    subscriptions = Subscriptions(told.put_nowait)
    subscriptions.add("codex://x", thread_source(observers, ResourceAddress(ID, ThreadView.TRANSCRIPT)))
    subscriptions.add("codex://x", thread_source(observers, ResourceAddress(ID, ThreadView.TRANSCRIPT)))
    for _ in range(100):
        observers.tell(ID, CHANGE)
    async with asyncio.timeout(PATIENCE):
        assert await told.get() == "codex://x"
    assert told.empty()
    observers.tell(ID, CHANGE)
    async with asyncio.timeout(PATIENCE):
        await told.get()
    subscriptions.stop()
    assert len(observers) == 0


async def test_whoever_unsubscribed_is_told_nothing_more() -> None:
    observers = Observers()
    told: list[str] = []
    subscriptions = Subscriptions(told.append)
    subscriptions.add("codex://x", thread_source(observers, ResourceAddress(ID, ThreadView.TRANSCRIPT)))
    observers.tell(ID, CHANGE)
    subscriptions.remove("codex://x")
    subscriptions.remove("codex://x")
    observers.tell(ID, CHANGE)
    other = Subscriptions(lambda _uri: done.set())
    done = asyncio.Event()
    other.add("codex://y", thread_source(observers, ResourceAddress(ID, ThreadView.TRANSCRIPT)))
    observers.tell(ID, CHANGE)
    async with asyncio.timeout(PATIENCE):
        await done.wait()
    assert told == []
    other.stop()


async def test_a_session_has_a_bounded_number_of_subscriptions() -> None:
    subscriptions = Subscriptions(lambda _uri: None)
    for number in range(MAX_SUBSCRIPTIONS):
        subscriptions.add(f"codex://{number}", thread_source(Observers(), ResourceAddress(ID, ThreadView.DIFF)))
    subscriptions.add("codex://0", thread_source(Observers(), ResourceAddress(ID, ThreadView.DIFF)))
    with pytest.raises(Refused, match="unsubscribe from some first"):
        subscriptions.add("codex://more", thread_source(Observers(), ResourceAddress(ID, ThreadView.DIFF)))
    subscriptions.stop()
    assert len(subscriptions) == 0
