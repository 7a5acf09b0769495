import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from codex_mcp.execserver.launch import ProcessSpec
from codex_mcp.execserver.sandbox.helper import helper_command
from codex_mcp.execserver.sandbox.helper_pool import MAX_HELPERS, MAX_IDLE, HelperPool, PreparedView
from codex_mcp.execserver.sandbox.helper_pool_state import ViewKey
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.helper import BEGUN
from tests.support.leaks import take_snapshot

WHERE = fs.Canonicalize("file:///proc/self")
"""Its answer names the helper that gave it."""


class Starts:
    """What would be started, and how often it was."""

    def __init__(self, *argvs: list[str], fingerprint: int = 1, holds_placeholders: bool = False) -> None:
        self.count = 0
        self.released = 0
        self.is_released = asyncio.Event()
        self.fingerprint = fingerprint
        self._argvs = list(argvs)
        self._holds_places = holds_placeholders

    def prepare(self) -> PreparedView:
        held = ExitStack()
        held.callback(self._release)
        return PreparedView(ViewKey("policy", self.fingerprint), self._launch, held, self._holds_places)

    def _launch(self) -> ProcessSpec:
        self.count += 1
        what = helper_command()
        return replace(what, argv=self._argvs.pop(0)) if self._argvs else what

    def _release(self) -> None:
        self.released += 1
        self.is_released.set()


@asynccontextmanager
async def all_helpers(max_idle: float = MAX_IDLE) -> AsyncIterator[HelperPool]:
    found = HelperPool(max_idle)
    try:
        yield found
    finally:
        found.close()


async def who(helpers: HelperPool, starts: Starts) -> int:
    answer, _ = await helpers.ask(starts.prepare, WHERE)
    assert isinstance(answer, msgspec.Raw)
    return int(msgspec.json.decode(answer)["path"].rpartition("/")[2])


async def test_one_helper_does_all_requests_of_a_view() -> None:
    async with all_helpers() as helpers:
        starts = Starts()
        assert len({await who(helpers, starts) for _ in range(5)}) == 1
        assert (starts.count, starts.released) == (1, 4), "four looks, and one view that is still held"
    assert starts.released == 5


async def test_a_view_that_has_changed_gets_a_helper_of_its_own_and_the_old_one_ends() -> None:
    async with all_helpers() as helpers:
        starts = Starts()
        first = await who(helpers, starts)
        starts.fingerprint = 2
        assert await who(helpers, starts) != first
        assert len(helpers) == 1
        assert first not in take_snapshot().children


async def test_requests_at_once_have_a_helper_each_but_not_without_end() -> None:
    async with all_helpers() as helpers:
        starts = Starts()
        pids = await asyncio.gather(*(who(helpers, starts) for _ in range(3 * MAX_HELPERS)))
        assert len(set(pids)) == MAX_HELPERS == len(helpers)


async def test_a_helper_that_died_while_it_waited_is_buried_and_replaced() -> None:
    async with all_helpers() as helpers:
        starts = Starts()
        first = await who(helpers, starts)
        os.kill(first, signal.SIGKILL)
        await starts.is_released.wait()
        assert len(helpers) == 0
        assert first not in take_snapshot().children
        assert await who(helpers, starts) != first


async def test_a_request_that_finds_dead_helpers_is_done_all_the_same() -> None:
    async with all_helpers() as helpers:
        starts = Starts()
        pids = await asyncio.gather(*(who(helpers, starts) for _ in range(3)))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert await who(helpers, starts) not in pids


async def test_a_request_that_was_not_begun_is_tried_once_more() -> None:
    async with all_helpers() as helpers:
        starts = Starts(["/bin/false"])
        await who(helpers, starts)
        assert starts.count == 2
        starts = Starts(["/bin/false"], ["/bin/false"], fingerprint=2)
        with pytest.raises(RequestFailed, match="could not be set up"):
            await who(helpers, starts)
        assert (starts.count, starts.released) == (2, 2)


async def test_a_request_that_was_begun_is_not_tried_again() -> None:
    async with all_helpers() as helpers:
        text = f"import os; os.read(0, 999); os.write(0, {BEGUN!r})"
        starts = Starts([sys.executable, "-c", text])
        with pytest.raises(RequestFailed, match="may have been done"):
            await who(helpers, starts)
        assert (starts.count, len(helpers)) == (1, 0)


async def test_a_helper_whose_request_nobody_waits_for_any_longer_is_not_used_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "asked")
    async with all_helpers() as helpers:
        text = f"open({str(tmp_path / 'asked')!r}, 'w').close(); import time; time.sleep(100)"
        starts = Starts([sys.executable, "-c", text])
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(helpers.ask(starts.prepare, WHERE))
            await asyncio.to_thread((tmp_path / "asked").read_text)
            asking.cancel()
        assert (len(helpers), starts.released) == (0, 1)


async def test_a_helper_that_has_waited_long_enough_ends() -> None:
    async with all_helpers(max_idle=0.01) as helpers:
        starts = Starts()
        await who(helpers, starts)
        await starts.is_released.wait()
        assert (len(helpers), starts.released) == (0, 1)


async def test_helpers_with_folders_make_way_for_what_is_free() -> None:
    async with all_helpers() as helpers:
        plain, holding = Starts(), Starts(fingerprint=2, holds_placeholders=True)
        await who(helpers, holding)
        helpers.release_placeholders()
        assert (len(helpers), holding.released) == (0, 1)
        await who(helpers, plain)
        helpers.release_placeholders()
        assert len(helpers) == 1


async def test_after_the_end_none_is_max_idle() -> None:
    helpers, starts = HelperPool(), Starts()
    helpers.close()
    await who(helpers, starts)
    assert len(helpers) == 0
    helpers.close()
