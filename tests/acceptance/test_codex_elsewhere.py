"""The app-server of the wheel's Codex with its environment on our exec-server."""

from pathlib import Path

import pytest

from tests.support.exec.remote_codex_scenes import SCENES, Scene


@pytest.mark.parametrize("scene", SCENES)
async def test_the_wheels_codex_plays_the_scene(scene: Scene, tmp_path: Path) -> None:
    await scene(tmp_path, None)
