"""Runs `async def` tests without a plugin, and looks after every test for what it left behind."""

import asyncio
import functools
import inspect
import signal
from collections.abc import Callable, Coroutine, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.leaks import leaks_since, take_snapshot
from tests.support.patience import PATIENCE

# On a loaded machine drawing an example takes long, which says nothing about us; and a red build must be red again.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("house")

# A shell has what runs in its background ignore the interrupt, and nohup the hang-up; so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

TEST_TIMEOUT = 4 * PATIENCE
"""The slowest honest test starts the real Codex a few times; one that takes this long hangs."""

AsyncTest = Callable[..., Coroutine[object, object, None]]


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """After every test: no child process, no open file, no thread that was not there before."""
    before = take_snapshot()
    yield
    leaks = leaks_since(before)
    assert not leaks, "\n".join(leaks)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest-timeout how long a test may take."""
    if config.option.timeout is None:
        config.option.timeout = TEST_TIMEOUT


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Give pytest an ordinary function in place of an `async def` one (also below hypothesis' @given)."""
    property_test = getattr(pyfuncitem.obj, "hypothesis", None)
    if property_test is not None:
        if inspect.iscoroutinefunction(property_test.inner_test):
            property_test.inner_test = run_to_the_end(property_test.inner_test)
    elif inspect.iscoroutinefunction(pyfuncitem.obj):
        pyfuncitem.obj = run_to_the_end(pyfuncitem.obj)


def run_to_the_end(test: AsyncTest) -> Callable[..., None]:
    """Run the test in an event loop of its own, and fail if it leaves tasks."""

    @functools.wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        with asyncio.Runner(debug=False) as runner:
            runner.run(_and_no_task_left(test(*args, **kwargs)))

    return run


async def _and_no_task_left(test: Coroutine[object, object, None]) -> None:
    await test
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks are left: {sorted(map(repr, left))}"
