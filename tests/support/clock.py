"""An event loop whose clock the test moves: minutes pass in no time, and timers fire exactly when they are due."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Test = Callable[["Clock"], Coroutine[Any, Any, None]]


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now


class Clock:
    """The time of the running loop."""

    def __init__(self, loop: _Loop) -> None:
        self._loop = loop

    @property
    def now(self) -> float:
        """The time, which begins anywhere."""
        return self._loop.now

    async def advance(self, seconds: float, step: float = 0.125) -> None:
        """Let time pass in small steps; what is due at each runs before the next. Steps are exact binary fractions."""
        until = self._loop.now + seconds
        while self._loop.now < until:
            self._loop.now = min(until, self._loop.now + step)
            # One pass moves due timers into the queue, the next runs them, and a third runs what they scheduled.
            for _ in range(3):
                await asyncio.sleep(0)

    def jump(self, seconds: float) -> None:
        """Let time pass at once: timers fire after what is ready to run now."""
        self._loop.now += seconds


def run_with_clock(test: Test) -> None:
    """Run the test in such a loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, _Loop)
        runner.run(test(Clock(loop)))
