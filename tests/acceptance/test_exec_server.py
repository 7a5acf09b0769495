"""Our server behaves as recorded from Codex's exec-server 0.166.0. tests/judges checks the same for Codex's own."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.exec.recordings import connections, files, processes, web
from tests.support.exec.wire import Target, target

Scene = Callable[[Target], Awaitable[None]]


@pytest.mark.parametrize("scene", [*connections.SCENES, *processes.SCENES, *files.SCENES, *web.SCENES])
async def test_our_server_plays_the_scene(scene: Scene, tmp_path: Path) -> None:
    async with target(tmp_path) as ours:
        await scene(ours)
