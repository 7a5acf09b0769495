"""Trials in the background: they do not begin beside a user's first call."""

import os
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
    path.write_text("#!/bin/sh\necho codex-cli 9.9.9\n")
    path.chmod(0o755)
    return path


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
