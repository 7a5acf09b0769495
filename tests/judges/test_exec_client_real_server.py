"""Our client with the exec-server of the newest Codex: the tests of the client, a large storm, and watches."""

from pathlib import Path

import pytest

from tests.support.clients.judges import newest_codex
from tests.support.exec.client_scenes import Scene, Size, scenes, storm
from tests.support.exec.exec_server import codex_exec_server, connected, running_exec_server, served_by

WITHOUT = frozenset({"test_a_server_that_does_not_support_watches_is_not_asked"})  # the newest Codex supports them

FULL = Size(processes=50, lines=400, cut=0.003, ghost=0)
EVENTS = 10_000
"""Half of the processes echo, one event a line; the lines of the others may come together."""


@pytest.mark.parametrize("scene", scenes(without=WITHOUT).values(), ids=scenes(without=WITHOUT))
async def test_the_client_does_with_the_newest_codex_what_it_does_with_the_wheels(tmp_path: Path, scene: Scene) -> None:
    with served_by(codex_exec_server(newest_codex())):
        await scene(tmp_path)


async def test_ten_thousand_events_of_fifty_processes_survive_a_storm(tmp_path: Path) -> None:
    with served_by(codex_exec_server(newest_codex())):
        async with running_exec_server(tmp_path / "home") as server:
            weathered = await storm(server.port, FULL, seed=1)
    assert weathered.events >= EVENTS
    assert weathered.cuts >= FULL.processes // 5
    assert weathered.repeats >= EVENTS // 100


async def test_a_watch_tells_of_a_file_that_comes_into_being(tmp_path: Path) -> None:
    with served_by(codex_exec_server(newest_codex())):
        async with connected(tmp_path) as setting:
            later = setting.folder / "later"
            async with setting.client.files.watch_missing([str(later)]) as changed:
                assert not changed.is_set()
                later.touch()
                await changed.wait()


async def test_a_watch_whose_connection_breaks_tells_one_to_look(tmp_path: Path) -> None:
    with served_by(codex_exec_server(newest_codex())):
        async with connected(tmp_path) as setting:
            async with setting.client.files.watch_missing([str(setting.folder / "later")]) as changed:
                setting.proxy.cut()
                await changed.wait()
            async with setting.client.files.watch_missing([str(setting.folder / "home")]) as changed:
                assert not changed.is_set()
