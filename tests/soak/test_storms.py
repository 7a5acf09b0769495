"""Short storms on both servers: afterwards they hold what they held before."""

from pathlib import Path

import pytest

from tests.soak.exec_storm import held_at_once, many_short, soaked_exec_server
from tests.soak.storm import calm, cast, numbers, soaked_server, storm
from tests.support.exec.wire import session
from tests.support.patience import PATIENCE

SESSIONS = 40

GROWTH = 16 * 1024
"""KiB that a server may keep after a storm: what Python and the allocator hold back for the next one."""


def test_the_same_seed_brings_the_same_clients() -> None:
    again = [[(client, chance.random()) for client, chance in cast(SESSIONS, seed=1)] for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.timeout(8 * PATIENCE)
async def test_after_a_storm_everything_is_back_where_it_was(tmp_path: Path) -> None:
    async with soaked_server(tmp_path) as server:
        port, pid = server.port, server.process.pid
        await storm(port, SESSIONS, seed=1)
        before = await calm(port, pid)
        await storm(port, SESSIONS, seed=2)
        after = await calm(port, pid, before)
        assert after.kibibytes <= before.kibibytes + GROWTH
        assert (await numbers(port))["core_starts_total"] == 1
        assert "aborted a connection that read nothing" in server.log
        assert "Traceback" not in server.log


SHORT = 500

READABLE = 6
"""KiB that a closed process may take as long as it can be read, which is longer than this test takes."""

SLACK = 2 * 1024
"""KiB that the allocator may hold back."""

AT_ONCE = 200


async def test_short_processes_leave_nothing_behind(tmp_path: Path) -> None:
    async with soaked_exec_server(tmp_path) as soaked, session(soaked.here.url) as wire:
        fresh = soaked.weight()
        await many_short(wire, soaked.here, 0, SHORT)
        before = await soaked.calm(fresh)
        await many_short(wire, soaked.here, SHORT, SHORT)
        after = await soaked.calm(before)
        assert after.children == 0
        assert after.kibibytes <= before.kibibytes + SHORT * READABLE + SLACK


async def test_many_processes_and_connections_at_once_leave_nothing_behind(tmp_path: Path) -> None:
    async with soaked_exec_server(tmp_path) as soaked:
        fresh = soaked.weight()
        held = await held_at_once(soaked, AT_ONCE)
        assert held.descriptors >= fresh.descriptors + AT_ONCE
        after = await soaked.calm(fresh)
        assert (after.descriptors, after.children) == (fresh.descriptors, 0)
