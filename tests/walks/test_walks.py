"""The walks go where they should, and are counted as their table says."""

from pathlib import Path
from statistics import median_low

import pytest

from tests.support.servers.mcp_server import SOURCES
from tests.walks.__main__ import table
from tests.walks.recorder import READ, Line
from tests.walks.walks import WALKS, Count, Walk, count, pieces


@pytest.mark.parametrize("walk", WALKS)
async def test_every_part_of_a_walk_is_counted(walk: Walk, tmp_path: Path) -> None:
    for part in await walk(tmp_path, SOURCES, 1):
        assert 10 < part.changes < part.entries


async def test_a_piece_of_an_answer_passes_at_most_25_functions(tmp_path: Path) -> None:
    """It passes them thousands of times in a turn. More are for those who ask for more: followers, other windows."""
    found = [piece.entries for piece in await pieces(tmp_path, SOURCES, 12)]
    assert len(found) == 12
    assert median_low(found) <= 25


def test_a_change_is_an_entry_after_one_of_another_package_in_the_same_thread() -> None:
    packages = [(1, "rpc"), (1, "rpc"), (1, "mcp"), (2, "state"), (1, "mcp"), (1, READ), (1, "rpc"), (2, "state")]
    lines = [Line(thread, package, "f") for thread, package in packages]
    assert count("walk", lines) == Count("walk", entries=7, changes=2)


def test_the_table_compares_two_versions() -> None:
    assert table([Count("a walk", 90, 30)], [Count("a walk", 100, 40)]).splitlines()[1].split() == (
        ["a", "walk", "100", "→", "90", "40", "→", "30", "-25%"]
    )
    assert table([Count("a walk", 90, 30)], None).splitlines()[1].split() == ["a", "walk", "90", "30"]
