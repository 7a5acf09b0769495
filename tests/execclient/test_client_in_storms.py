"""Many processes over a wire that is cut, delayed and repeated: nothing is lost, doubled or out of order."""

from pathlib import Path

import pytest

from tests.support.exec.client_scenes import Size, storm
from tests.support.exec.exec_server import running_exec_server

SMALL = Size(processes=12, lines=80, cut=0.02, ghost=0)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_line_of_every_process_comes_once_and_in_order(tmp_path: Path, seed: int) -> None:
    async with running_exec_server(tmp_path / "home") as server:
        weathered = await storm(server.port, SMALL, seed)
    assert weathered.cuts
    assert weathered.repeats
    assert weathered.events > SMALL.processes // 2 * SMALL.lines
