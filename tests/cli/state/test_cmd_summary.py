import json
import os
from pathlib import Path

import pytest

from codex_mcp.team.records.summaries import write_summary
from tests.support.servers.commands import command
from tests.support.state.agents import an_agent, register, state_folder_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = state_folder_of(tmp_path)
    register(folder, an_agent(1, "reviewer"), an_agent(2, "reviewer"))
    for number, text in ((2, "the newer one"), (1, "the older one\x1b[2J")):
        path = write_summary(str(folder), "reviewer", f"thread-{number}", text)
        os.utime(path, (1_000_000 * number, 1_000_000 * number))
    return tmp_path


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("codex:000000000001", "the older one\\u{1b}[2J"),
        ("thread-1", "the older one\\u{1b}[2J"),
        ("thread-2", "the newer one"),
        ("reviewer", "the newer one"),
    ],
)
def test_a_summary_is_found_by_every_name_and_obeyed_by_no_terminal(home: Path, reference: str, text: str) -> None:
    told = command(home, "summary", reference)
    assert (told.returncode, told.stdout, told.stderr) == (0, text + "\n", "")


def test_programs_get_it_as_it_is(home: Path) -> None:
    assert json.loads(command(home, "summary", "thread-1", "--json").stdout) == {
        "schema": 1,
        "identity": "reviewer",
        "thread_id": "thread-1",
        "written_at": "1970-01-12T13:46:40.000Z",
        "text": "the older one\x1b[2J",
    }


@pytest.mark.parametrize("reference", ["nobody", "codex:000000000009", "..", "../reviewer", ""])
def test_what_is_not_there_is_exit_code_3(home: Path, reference: str) -> None:
    told = command(home, "summary", reference)
    assert (told.returncode, told.stdout) == (3, "")
    assert told.stderr.startswith(f"codex-mcp summary: there is no summary of {reference} in ")
