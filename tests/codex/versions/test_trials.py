"""Trials in the background: they do not begin beside a user's first call."""

import os
from functools import partial
from pathlib import Path

import pytest

from codex_mcp.base.processes.offspring import children
from codex_mcp.base.settings.kinds import MIB
from codex_mcp.codex.versions import trials
from codex_mcp.codex.versions.trials import Trials
from codex_mcp.codex.versions.verdicts import verdict_on
from codex_mcp.transports.child import start_child
from tests.support.mail.folders import until


@pytest.fixture
def codex(tmp_path: Path) -> Path:
    path = tmp_path / "codex"
    says(path, "9.9.9")
    path.chmod(0o755)
    return path


def says(path: Path, version: str) -> None:
    path.write_text(f"#!/bin/sh\necho codex-cli {version}\n")


async def test_nothing_runs_during_the_head_start(tmp_path: Path, codex: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "HEAD_START", 3600.0)
    waiting = Trials(str(tmp_path), os.environ)
    before = children()
    waiting.start(str(codex))
    later = await start_child(["true"], os.environ, MIB)
    await later.wait()
    assert children() == before
    await waiting.aclose()
    assert verdict_on(str(codex), str(tmp_path)) is None


async def test_then_it_is_tried_once(tmp_path: Path, codex: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "HEAD_START", 0.0)
    trying = Trials(str(tmp_path), os.environ)
    for _ in range(2):
        trying.start(str(codex))
    await until(lambda: verdict_on(str(codex), str(tmp_path)) is not None)
    await trying.aclose()
    verdict = verdict_on(str(codex), str(tmp_path))
    assert verdict is not None
    assert verdict.failed == "schema"


async def test_no_module_of_the_folder_where_the_server_was_started_runs(
    tmp_path: Path, codex: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "repository/codex_mcp"
    package.mkdir(parents=True)
    mark = tmp_path / "mark"
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.chdir(package.parent)
    await Trials(str(tmp_path), os.environ).run(str(codex))
    assert not mark.exists()
    assert verdict_on(str(codex), str(tmp_path)) is not None


async def test_a_codex_that_has_taken_the_place_of_a_tried_one_is_tried_by_the_same_server(
    tmp_path: Path, codex: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server over HTTP lives for weeks, and Codex updates itself in its place."""
    monkeypatch.setattr(trials, "HEAD_START", 0.0)
    trying = Trials(str(tmp_path), os.environ)

    def has_tried(version: str) -> bool:
        trying.start(str(codex))  # as each start of a core does
        return verdict_on(str(codex), str(tmp_path), version) is not None

    for version in ("9.9.9", "9.9.10"):
        says(codex, version)
        await until(partial(has_tried, version))
    await trying.aclose()
