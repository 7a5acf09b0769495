"""The scenes that our exec-server plays, played by Codex' own: so we know that they tell the truth."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.clients.judges import newest_codex
from tests.support.exec.recordings import connections, files, processes, web
from tests.support.exec.wire import Target, target

Scene = Callable[[Target], Awaitable[None]]


@pytest.mark.parametrize("scene", [*connections.SCENES, *processes.SCENES, *files.SCENES, *web.SCENES])
async def test_codex_own_server_plays_the_scene(scene: Scene, tmp_path: Path) -> None:
    async with target(tmp_path, [str(newest_codex()), "exec-server"]) as real:
        await scene(real)
