"""Questions of several servers, where there is none."""

from pathlib import Path

from codex_mcp.control.questions import find_question, open_questions
from codex_mcp.control.server import Caller

CALLER = Caller(program="test", person="me")


async def test_a_state_folder_without_servers_has_no_questions(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        for survey in (
            await open_questions(str(folder), CALLER, {}),
            await find_question(str(folder), "q", CALLER, {}),
        ):
            assert [*survey.asked] == []
            assert [*survey.unreached] == []
