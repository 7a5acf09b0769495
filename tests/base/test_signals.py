"""Signals are heard one by one, and only while somebody listens."""

import asyncio
import os
import signal

import pytest

from codex_mcp.base.signals import STOP_SIGNALS, first, signals_received
from codex_mcp.base.tasks import TaskSet
from tests.support.patience import PATIENCE


async def test_each_signal_is_heard_once_and_in_order() -> None:
    with signals_received() as received:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)
            async with asyncio.timeout(PATIENCE):
                assert await received.get() == number
        assert received.empty()


async def test_afterwards_a_signal_means_what_it_did_before() -> None:
    with signals_received():
        pass
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("number", STOP_SIGNALS)
async def test_whatever_comes_first_ends_the_wait(number: int) -> None:
    tasks = TaskSet()
    with signals_received() as received:
        working = tasks.spawn(asyncio.Event().wait(), name="work")
        os.kill(os.getpid(), number)
        async with asyncio.timeout(PATIENCE):
            await first(working, received)
        assert not working.done()
        done = tasks.spawn(asyncio.sleep(0), name="done")
        async with asyncio.timeout(PATIENCE):
            await first(done, received)
        assert done.done()
    await tasks.aclose()


async def test_a_flood_that_nobody_hears_in_time_does_no_harm(capfd: pytest.CaptureFixture[str]) -> None:
    with signals_received() as received:
        # The loop does not run meanwhile, so that what wakes it fills up after some hundred.
        for _ in range(2000):
            os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await received.get() == signal.SIGTERM
    assert capfd.readouterr().err == ""
