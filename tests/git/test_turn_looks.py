"""Which turn a change is counted to, where several share a checkout."""

import os
from collections.abc import Iterable
from pathlib import Path

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.logs import NOTHING
from codex_mcp.codex.facts import FileChange
from codex_mcp.git.turn_looks import TurnLooks
from codex_mcp.git.worktree import WorkDone
from tests.support.repositories import repository


class Turn:
    pass


async def test_a_turn_that_begins_while_git_looks_at_the_one_before_makes_its_files_uncertain(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "repo")
    looks = TurnLooks(str(tmp_path / "home"))
    first, second = Turn(), Turn()
    found: list[FileChange] = []

    def looked(files: Iterable[FileChange], _work: WorkDone | None, warning: str | None) -> None:
        assert warning is None
        found.extend(files)

    looks.begin(first, str(checkout))
    (checkout / "a").write_text("changed\n")
    os.mkfifo(checkout / ".gitignore")  # where git waits
    look = looks.look(first, NOTHING, None, looked)
    assert look is not None
    gate = await in_thread(os.open, str(checkout / ".gitignore"), os.O_WRONLY)
    looks.begin(second, str(checkout))
    os.close(gate)
    await look
    assert [(Path(file.path).name, file.is_certain) for file in found] == [("a", False)]
    found.clear()
    (checkout / ".gitignore").unlink()
    (checkout / "b").write_text("new\n")
    look = looks.look(second, NOTHING, None, looked)
    assert look is not None
    await look
    assert "b" in {Path(file.path).name for file in found}
    assert all(file.is_certain for file in found)
    await looks.aclose()
