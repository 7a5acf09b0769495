"""The core is held back for a reader that is far behind, as long as that reads, and not for one that does not."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.streams.backlog import LAG, MOST_HELD, Backlog, HoldBudget
from codex_mcp.transports.streams.live_stream import BATCH_BYTES, Delivery, LiveStream
from tests.support.clock import Clock, run_with_clock

SOME = b"x" * BATCH_BYTES


def stream(backlog: Backlog) -> LiveStream:
    """A reader that may be behind by eight pieces, for which the core waits when it is behind by more than four."""
    live = LiveStream("test", 1000, 8 * BATCH_BYTES, delivery=Delivery(8 * BATCH_BYTES, backlog))
    live.add_reader()
    return live


def test_nobody_waits_for_readers_that_are_not_far_behind() -> None:
    async def test(clock: Clock) -> None:
        backlog = Backlog()
        began = clock.now
        live = stream(backlog)
        for _ in range(4):
            live.put(SOME)
        await backlog.work_off()
        assert clock.now == began

    run_with_clock(test)


def test_the_core_waits_until_a_reader_has_taken_half() -> None:
    async def test(_clock: Clock) -> None:
        backlog, tasks = Backlog(), TaskSet()
        live = stream(backlog)
        for _ in range(6):
            live.put(SOME)
        waiting = tasks.spawn(backlog.work_off(), name="core")
        done = []
        number = 0
        for _ in range(4):
            number = (await live.take(number)).last
            for _ in range(3):
                await asyncio.sleep(0)
            done.append(waiting.done())
        assert done == [False, False, True, True]

    run_with_clock(test)


def test_a_reader_that_takes_nothing_is_not_waited_for_any_longer() -> None:
    async def test(clock: Clock) -> None:
        backlog, tasks = Backlog(), TaskSet()
        live = stream(backlog)
        for _ in range(6):
            live.put(SOME)
        waiting = tasks.spawn(backlog.work_off(), name="core")
        await clock.advance(LAG - 0.25)
        assert not waiting.done()
        await clock.advance(0.5)
        assert waiting.done()
        live.put(SOME)
        await backlog.work_off()  # it lags: no clock has to move

    run_with_clock(test)


def test_one_that_reads_too_slowly_is_waited_for_until_the_budget_is_spent() -> None:
    async def test(clock: Clock) -> None:
        backlog, tasks = Backlog(), TaskSet()
        live = stream(backlog)
        began, number = clock.now, 0
        live.put(SOME)
        for _ in range(7):
            live.put(SOME)
        waiting = tasks.spawn(backlog.work_off(), name="core")
        while not waiting.done():
            live.put(b"and it gets no less" + SOME)
            number = (await live.take(number)).last
            await clock.advance(0.25)
        assert MOST_HELD <= clock.now - began <= MOST_HELD + 0.5

    run_with_clock(test)


def test_a_budget_is_full_at_first_and_fills_slowly() -> None:
    budget = HoldBudget(2.0, 0.1)
    assert budget.left(100.0) == 2.0
    budget.spend(2.0, 102.0)
    assert budget.left(102.0) == 0.0
    assert budget.left(107.0) == 0.5
    assert budget.left(1000.0) == 2.0


def test_a_clock_that_goes_back_fills_nothing() -> None:
    budget = HoldBudget(2.0, 0.1)
    budget.left(100.0)
    budget.spend(2.0, 102.0)
    assert budget.left(50.0) == 0.0


@given(st.lists(st.floats(0, 10), max_size=50))
def test_whoever_waits_as_long_as_possible_waits_for_two_seconds_and_a_tenth_of_the_time(pauses: list[float]) -> None:
    budget, now, waited = HoldBudget(2.0, 0.1), 0.0, 0.0
    for pause in pauses:
        now += pause
        seconds = budget.left(now)
        now += seconds
        waited += seconds
        budget.spend(seconds, now)
    assert waited <= 2.0 + 0.1 * now + 1e-6
