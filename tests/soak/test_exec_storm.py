"""A short storm on the exec-server: afterwards it holds what it held before."""

from pathlib import Path

from tests.soak.exec_storm import held_at_once, many_short, soaked_exec_server
from tests.support.exec.wire import session

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
