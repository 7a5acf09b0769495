"""What tools list, accept and refuse is as recorded, word by word."""

import re
from pathlib import Path

import pytest

from tests.mcp.tools.golden_tools import FOLDER, listed, refusals


@pytest.mark.parametrize(("name", "team"), [("listed", False), ("team-listed", True)])
async def test_the_tools_of_each_surface_are_listed_as_recorded(tmp_path: Path, name: str, *, team: bool) -> None:
    """After a change on purpose: `python -m tests.mcp.tools.golden_tools`, and read the difference."""
    assert (await listed(tmp_path, team=team)).decode() == (FOLDER / f"{name}.json").read_text()


@pytest.mark.parametrize(("name", "team"), [("refusals", False), ("team-refusals", True)])
async def test_wrong_arguments_are_refused_in_the_words_that_are_recorded(
    tmp_path: Path, name: str, *, team: bool
) -> None:
    told = (await refusals(tmp_path, team=team)).decode()
    assert told == (FOLDER / f"{name}.txt").read_text()
    assert not re.search(r"Traceback|object at 0x", told)
