"""The newest Codex and exec-servers: its own plays our scenes, and its app-server uses ours as an environment."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.clients.judges import newest_codex
from tests.support.exec.recordings import connections, files, processes, web
from tests.support.exec.remote_codex_scenes import SCENES as REMOTE_SCENES
from tests.support.exec.remote_codex_scenes import Scene as RemoteScene
from tests.support.exec.wire import Target, target

Scene = Callable[[Target], Awaitable[None]]


@pytest.mark.parametrize("scene", [*connections.SCENES, *processes.SCENES, *files.SCENES, *web.SCENES])
async def test_codex_own_server_plays_the_scene(scene: Scene, tmp_path: Path) -> None:
    async with target(tmp_path, [str(newest_codex()), "exec-server"]) as real:
        await scene(real)


@pytest.mark.parametrize("scene", REMOTE_SCENES)
async def test_the_newest_codex_plays_the_scene_on_our_server(scene: RemoteScene, tmp_path: Path) -> None:
    await scene(tmp_path, newest_codex())
