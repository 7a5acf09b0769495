"""What is done for a turn is done on behalf of its caller."""

import logging
from pathlib import Path

import pytest

from codex_mcp.base.logs import Subject, current_subject
from codex_mcp.codex.core import ThreadSpec, TurnSpec
from tests.support.core.cores import Watcher, scripted_threads
from tests.support.patience import PATIENCE
from tests.support.repositories import repository


class Told(logging.Filter):
    """What the lines about failed looks are about."""

    def __init__(self) -> None:
        super().__init__()
        self.about: list[Subject] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Remember the subject; keep the line."""
        if "cannot see what commands changed" in record.msg:
            self.about.append(current_subject())
        return True


async def test_files_are_looked_at_on_threads_of_the_principal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkout = repository(tmp_path / "work")
    (checkout / ".git" / "index").write_text("no index")  # git fails, which is logged where it was run
    told = Told()
    watcher = Watcher()
    watcher.subject = Subject("session", "alice", "request")
    with caplog.filtering(told):
        async with scripted_threads(tmp_path) as (threads, _):
            thread = await threads.start(ThreadSpec(cwd=str(checkout), sandbox="workspace-write"))
            turn = thread.submit(TurnSpec('[[scene: run cmd="echo hello"]]'), watcher, full_events=False)
            await turn.wait(PATIENCE)
    assert [each.principal for each in told.about] == ["alice"]
