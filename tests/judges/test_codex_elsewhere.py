"""The app-server of Codex 0.166.0 with its environment on our exec-server."""

from pathlib import Path

import pytest

from tests.support.clients.judges import newest_codex
from tests.support.exec.remote_codex_scenes import SCENES, Scene


@pytest.mark.parametrize("scene", SCENES)
async def test_the_newest_codex_plays_the_scene(scene: Scene, tmp_path: Path) -> None:
    await scene(tmp_path, newest_codex())
