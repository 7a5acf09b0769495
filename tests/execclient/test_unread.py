"""What waits for its reader holds the connection back, however it comes, is read and ends."""

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.errors import BodyLost
from codex_mcp.execclient.flow import HELD_BYTES, UNREAD_BYTES, Flow
from codex_mcp.execclient.unread import Unread


class Told(Flow):
    def __init__(self) -> None:
        super().__init__()
        self.full = 0

    def filled(self) -> None:
        self.full += 1
        super().filled()

    def emptied(self) -> None:
        self.full -= 1
        super().emptied()


@given(st.lists(st.integers(1, HELD_BYTES), max_size=20), st.booleans())
async def test_everything_is_read_once_and_in_order_and_nothing_stays_held(sizes: list[int], fails: bool) -> None:  # noqa: FBT001
    flow = Told()
    unread: Unread[int] = Unread(flow)
    for number, size in enumerate(sizes):
        unread.add(number, size)
        assert flow.full == (sum(sizes[: number + 1]) > HELD_BYTES)
        assert unread.is_too_much == (sum(sizes[: number + 1]) > UNREAD_BYTES)
    unread.end(BodyLost("gone") if fails else None)
    unread.end(BodyLost("too late"))
    assert flow.full == 0
    read: list[int] = []
    with pytest.raises(BodyLost, match="gone") if fails else contextlib.nullcontext():
        read.extend([item async for item in unread.read()])
    assert fails or read == list(range(len(sizes)))


async def test_a_reader_waits_and_what_nobody_reads_any_longer_holds_nothing() -> None:
    flow = Told()
    unread: Unread[str] = Unread(flow)
    tasks = TaskSet()
    reading = unread.read()
    first: asyncio.Task[str] = tasks.spawn(anext(reading), name="first")  # type: ignore[arg-type]
    await asyncio.sleep(0)
    assert not first.done()
    unread.add("a", 2 * HELD_BYTES)
    assert await first == "a"
    unread.add("b", 2 * HELD_BYTES)
    assert flow.full == 1
    unread.drop()
    assert flow.full == 0
    with pytest.raises(StopAsyncIteration):
        await anext(reading)
