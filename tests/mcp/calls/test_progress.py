"""A client sees that its call is alive, and what the agent does, and nothing after the end."""

from itertools import pairwise

from codex_mcp.mcp.calls.progress import MESSAGE_CHARS, NEWS_INTERVAL, Heartbeat
from tests.support.clock import Clock, run_with_clock

INTERVAL = 5.0


class Listener:
    """Notes what is sent, and when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.now
        self.sent: list[tuple[float, float, str]] = []

    def __call__(self, progress: float, message: str) -> None:
        self.sent.append((self._clock.now - self._began, progress, message))

    @property
    def times(self) -> list[float]:
        return [time for time, _, _ in self.sent]

    @property
    def messages(self) -> list[str]:
        return [message for _, _, message in self.sent]


def test_a_quiet_call_gives_a_sign_of_life_in_every_interval() -> None:
    async def test(clock: Clock) -> None:
        heard = Listener(clock)
        heartbeat = Heartbeat(heard, INTERVAL, "starting")
        await clock.advance(20)
        heartbeat.stop()
        assert heard.sent == [(time, time, "starting") for time in (5.0, 10.0, 15.0, 20.0)]

    run_with_clock(test)


def test_news_is_told_soon_and_the_next_sign_of_life_is_an_interval_later() -> None:
    async def test(clock: Clock) -> None:
        heard = Listener(clock)
        heartbeat = Heartbeat(heard, INTERVAL, "starting")
        await clock.advance(2)
        heartbeat.activity_changed("running make")
        await clock.advance(6)
        heartbeat.stop()
        assert heard.messages == ["running make", "running make"]
        assert heard.times == [2.125, 7.125]

    run_with_clock(test)


def test_news_that_comes_too_fast_is_told_twice_a_second_and_the_last_of_it_always() -> None:
    async def test(clock: Clock) -> None:
        heard = Listener(clock)
        heartbeat = Heartbeat(heard, INTERVAL, "starting")
        for number in range(32):
            heartbeat.activity_changed(f"step {number}")
            await clock.advance(0.125)
        await clock.advance(0.5)
        heartbeat.stop()
        assert len(heard.sent) <= 4.5 / NEWS_INTERVAL
        assert all(later - earlier >= NEWS_INTERVAL for earlier, later in pairwise(heard.times))
        assert heard.messages[-1] == "step 31"

    run_with_clock(test)


def test_progress_always_grows_even_if_the_clock_stands_still() -> None:
    async def test(clock: Clock) -> None:
        heard = Listener(clock)
        heartbeat = Heartbeat(heard, 0, "starting")
        await clock.advance(2**-20, step=2**-24)
        heartbeat.stop()
        progress = [progress for _, progress, _ in heard.sent]
        assert len(progress) > 2
        assert all(later > earlier for earlier, later in pairwise(progress))

    run_with_clock(test)


def test_after_the_stop_nothing_is_sent_whatever_the_agent_does() -> None:
    async def test(clock: Clock) -> None:
        heard = Listener(clock)
        heartbeat = Heartbeat(heard, INTERVAL, "starting")
        await clock.advance(1)
        heartbeat.stop()
        heartbeat.stop()
        heartbeat.activity_changed("thinking")
        await clock.advance(60)
        assert heard.sent == []

    run_with_clock(test)


def test_a_message_is_no_longer_than_what_clients_show() -> None:
    async def test(clock: Clock) -> None:
        heard = Listener(clock)
        heartbeat = Heartbeat(heard, INTERVAL, "x" * 1000)
        await clock.advance(INTERVAL)
        heartbeat.stop()
        assert heard.messages == ["x" * MESSAGE_CHARS]

    run_with_clock(test)
