import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.tables import NARROWEST, cell_width, table, whole_width

rows = st.lists(st.lists(st.text(max_size=30), min_size=3, max_size=3), max_size=6)


def test_columns_are_as_wide_as_they_need_to_be() -> None:
    assert table(["NAME", "X"], [["a", "long"], ["longer", ""]], None).splitlines() == [
        "NAME    X",
        "a       long",
        "longer  -",
    ]


def test_the_widest_column_is_cut_first() -> None:
    assert table(["A", "B"], [["short", "a text that is long"]], 20).splitlines() == [
        "A      B",
        "short  a text that …",
    ]


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert cell_width("日本") == 4
    assert cell_width("e\u0301") == 1
    assert table(["A", "B"], [["日本", "x"]], None).splitlines()[1] == "日本  x"
    assert table(["AAAAAAAA"], [["日本日本日本"]], 9).splitlines()[1] == "日本日本…"


def test_nothing_that_a_terminal_obeys_gets_through() -> None:
    assert table(["A"], [["\x1b[31mred\nfake  row"]], None).splitlines()[1] == "\\u{1b}[31mred\\nfake  row"


@given(rows, st.integers(1, 120))
def test_it_fits_or_is_as_narrow_as_it_gets(cells: list[list[str]], width: int) -> None:
    lines = table(["ONE", "TWO", "THREE"], cells, width).split("\n")
    assert len(lines) == len(cells) + 1
    assert all(cell_width(line) <= max(width, 3 * NARROWEST + 4) for line in lines)


@given(rows)
def test_without_a_width_nothing_is_lost(cells: list[list[str]]) -> None:
    told = table(["ONE", "TWO", "THREE"], cells, None)
    assert "…" not in told or any("…" in cell for row in cells for cell in row)


def test_ids_are_not_cut() -> None:
    told = table(["ID", "B"], [["an id that is long", "a text that is long"]], 20, whole=1)
    assert told.splitlines()[1] == "an id that is long  a tex…"


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_table_leaves_out_what_does_not_fit_and_keeps_ids_whole(width: int) -> None:
    ids = "codex:" + "0199a213-81c0-7800-8aa1-bbab2a035a53"
    titles = ["ID", "NAME", "TEAM", "STATE", "BRANCH"]
    cells = [[ids, "reviewer-of-many-things", "a-team-with-a-long-name", "interrupted", "fix/" + "x" * 40]]
    told = table(titles, cells, width, whole=1, optional=["BRANCH", "TEAM"])
    assert all(cell_width(line) <= width for line in told.splitlines())
    assert ids in told
    assert ("BRANCH" in told, "STATE" in told) == (width > 60, True)


def test_the_whole_width_is_that_of_the_uncut_table() -> None:
    titles, rows = ("A", "LONGER"), [("something", "x"), ("日本", "y")]
    assert whole_width(titles, rows) == max(map(cell_width, table(titles, rows, None).splitlines()))
