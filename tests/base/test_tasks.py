import asyncio
import gc
import logging
from collections.abc import Iterator

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.tasks import TaskSet, spawn


class Heard(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    @property
    def lines(self) -> list[str]:
        """The texts."""
        return [record.getMessage() for record in self.records]

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler = Heard()
    logger = logging.getLogger("codex_mcp.base.tasks")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise ValueError("no luck")


async def test_a_spawned_task_has_its_name_and_gives_its_value() -> None:
    async def seven() -> int:
        return 7

    task = spawn(seven(), name="counting")
    assert task.get_name() == "counting"
    assert await task == 7


async def test_a_spawned_task_survives_garbage_collection_while_it_waits() -> None:
    started, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        await go.wait()
        done.set()

    spawn(work(), name="unreferenced")
    await started.wait()
    gc.collect()
    go.set()
    await done.wait()
    await asyncio.sleep(0)


async def test_a_task_that_fails_is_logged_with_its_name(heard: Heard) -> None:
    await asyncio.wait([spawn(fail(), name="unlucky")])
    await asyncio.sleep(0)
    assert heard.lines == ["task unlucky failed: no luck"]


async def test_a_task_that_is_cancelled_is_not_logged(heard: Heard) -> None:
    task = spawn(wait_for_ever(), name="patient")
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert heard.lines == []


async def test_closing_a_set_ends_its_tasks_and_may_be_done_twice() -> None:
    tasks = TaskSet()
    one = tasks.spawn(wait_for_ever(), name="one")
    two = tasks.spawn(wait_for_ever(), name="two")
    assert len(tasks) == 2
    await tasks.aclose()
    await tasks.aclose()
    assert one.cancelled()
    assert two.cancelled()


async def test_an_error_that_explains_itself_is_logged_without_a_traceback(heard: Heard) -> None:
    async def refuse() -> None:
        raise Refused("cannot do it: it is late")

    await asyncio.wait([spawn(refuse(), name="doing it"), spawn(fail(), name="gambling")])

    (explained,) = (record for record in heard.records if "doing it" in record.getMessage())
    (unexpected,) = (record for record in heard.records if "gambling" in record.getMessage())
    assert explained.getMessage() == "task doing it failed: cannot do it: it is late"
    assert (explained.levelno, explained.exc_info) == (logging.WARNING, None)
    assert unexpected.levelno == logging.ERROR
    assert unexpected.exc_info is not None


async def test_closing_a_set_waits_for_tasks_that_clean_up() -> None:
    cleaned: list[str] = []
    tasks, started = TaskSet(), asyncio.Event()

    async def tidy() -> None:
        try:
            started.set()
            await wait_for_ever()
        finally:
            await asyncio.sleep(0)
            cleaned.append("clean")

    tasks.spawn(tidy(), name="tidy")
    await started.wait()
    await tasks.aclose()
    assert cleaned == ["clean"]


async def test_a_closed_set_refuses_new_tasks() -> None:
    tasks = TaskSet()
    await tasks.aclose()
    with pytest.raises(RuntimeError, match="cannot start late: its owner is closed"):
        tasks.spawn(wait_for_ever(), name="late")


async def test_a_task_may_close_the_set_it_belongs_to() -> None:
    tasks = TaskSet()
    other = tasks.spawn(wait_for_ever(), name="other")
    await tasks.spawn(tasks.aclose(), name="closer")
    assert other.cancelled()


async def test_a_set_forgets_tasks_that_have_ended() -> None:
    tasks = TaskSet()
    await asyncio.wait([tasks.spawn(asyncio.sleep(0), name="short")])
    await asyncio.sleep(0)
    assert len(tasks) == 0
