"""A short storm: afterwards the server holds what it held before."""

from pathlib import Path

import pytest

from tests.soak.storm import calm, cast, numbers, soaked_server, storm
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
