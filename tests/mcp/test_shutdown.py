"""The end of a server: what runs gets its grace, then it is interrupted, and a further signal is in a hurry."""

import asyncio
import signal
from pathlib import Path
from typing import Any

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import TurnSpec
from codex_mcp.mcp.shutdown import Shutdown
from codex_mcp.mcp.tools.product import Product, plain_product
from codex_mcp.threads.record import Status
from codex_mcp.threads.threads import Threads
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.patience import PATIENCE
from tests.support.settings import make_settings
from tests.threads.test_thread import GATE, end, open_thread, submit


def shutdown_of(threads: Threads, home: Path, **settings: Any) -> Shutdown:
    return Shutdown(list, threads, make_settings(codex_home=str(home), **settings).calls)


async def test_a_turn_that_ends_within_the_grace_is_not_interrupted(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        turn = submit(await open_thread(threads, tmp_path), GATE)
        await model.wait_for_gate("gate")
        tasks = TaskSet()
        finishing = tasks.spawn(shutdown_of(threads, tmp_path).finish(asyncio.Queue()), name="finish")
        model.release("gate")
        await finishing
        assert (await end(turn)).status is Status.COMPLETED
        await tasks.aclose()


async def test_no_turn_goes_on_longer_than_the_product_allows(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        turn = submit(await open_thread(threads, tmp_path), GATE)
        await model.wait_for_gate("gate")
        await shutdown_of(threads, tmp_path, shutdown_grace=3600).finish(asyncio.Queue(), 0.01)
        assert (await end(turn)).status is Status.INTERRUPTED


async def test_a_signal_ends_the_grace(tmp_path: Path) -> None:
    async with scripted_threads(tmp_path) as (threads, model):
        turn = submit(await open_thread(threads, tmp_path), GATE)
        await model.wait_for_gate("gate")
        signals: asyncio.Queue[int] = asyncio.Queue()
        signals.put_nowait(signal.SIGTERM)
        await shutdown_of(threads, tmp_path, shutdown_grace=PATIENCE).finish(signals)
        assert (await end(turn)).status is Status.INTERRUPTED


async def test_what_the_product_does_at_its_end_happens_while_the_core_runs_unless_somebody_is_in_a_hurry(
    tmp_path: Path,
) -> None:
    done: list[str] = []

    async with scripted_threads(tmp_path) as (threads, _model):
        thread = await open_thread(threads, tmp_path)

        async def last_words() -> None:
            turn = thread.submit(TurnSpec('[[scene: say text="the end"]]'), Watcher(), full_events=False)
            done.append((await turn.wait(PATIENCE)).content)

        settings = make_settings(codex_home=str(tmp_path))
        plain = plain_product(threads, settings, bytes(KEY_BYTES))
        await shutdown_of(threads, tmp_path).close(Product(plain.methods, plain.tools, last_words), asyncio.Queue())
        assert done == ["the end"]
        assert threads.supervisor.pid is None


async def test_a_product_that_takes_its_time_is_cut_short_by_a_signal(tmp_path: Path) -> None:
    cut = asyncio.Event()

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cut.set()
            raise

    async with scripted_threads(tmp_path) as (threads, _model):
        plain = plain_product(threads, make_settings(codex_home=str(tmp_path)), bytes(KEY_BYTES))
        signals: asyncio.Queue[int] = asyncio.Queue()
        signals.put_nowait(signal.SIGTERM)
        await shutdown_of(threads, tmp_path).close(Product(plain.methods, plain.tools, for_ever), signals)
        assert cut.is_set()
