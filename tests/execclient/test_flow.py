"""When the reader of a connection is held back."""

import asyncio

import pytest

from codex_mcp.execclient.flow import Flow


async def is_held(flow: Flow) -> bool:
    """Ask for leave to read; a held reader has not got it after every other task has had its turn."""
    try:
        async with asyncio.timeout(0):
            await flow.pace()
    except TimeoutError:
        return True
    return False


async def test_the_reader_is_held_while_output_waits_and_nobody_waits_for_more() -> None:
    flow = Flow()
    assert not await is_held(flow)
    flow.filled()
    assert await is_held(flow)
    flow.emptied()
    assert not await is_held(flow)


async def test_whoever_waits_for_the_wire_lets_the_reader_go_on() -> None:
    flow = Flow()
    flow.filled()
    with flow.waiting():
        assert not await is_held(flow)
        with flow.waiting():
            pass
        assert not await is_held(flow)
    assert await is_held(flow)


async def test_every_full_process_counts() -> None:
    flow = Flow()
    flow.filled()
    flow.filled()
    flow.emptied()
    assert await is_held(flow)


async def test_one_who_fails_while_waiting_does_not_wait_any_longer() -> None:
    flow = Flow()
    flow.filled()
    with pytest.raises(ValueError, match="x"), flow.waiting():
        raise ValueError("x")
    assert await is_held(flow)


async def test_a_held_reader_goes_on_as_soon_as_it_may() -> None:
    flow = Flow()
    flow.filled()
    async with asyncio.TaskGroup() as group:
        reader = group.create_task(flow.pace())
        await asyncio.sleep(0)
        assert not reader.done()
        flow.emptied()
