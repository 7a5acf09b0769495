"""What the report on HTTP says of what was measured."""

import pytest

from benchmarks.grid import GridAim, GridRow, grid, grid_record
from benchmarks.rows import Unit

RATES = {"ours": [600, 500, 700], "one": [100], "other": [200]}


def test_ours_is_compared_with_each_server() -> None:
    row = GridRow("calls", Unit.PER_SECOND, RATES)
    assert (row.ratio("one"), row.ratio("other")) == (6, 3)
    assert row.is_met is None


@pytest.mark.parametrize(
    ("aim", "met"),
    [
        (GridAim(times_best=3), True),
        (GridAim(times_best=3.1), False),
        (GridAim(at_most=600), True),
        (GridAim(at_most=599), False),
    ],
)
def test_an_aim_is_a_limit_or_a_multiple_of_the_best(aim: GridAim, met: bool) -> None:  # noqa: FBT001  a column
    assert GridRow("calls", Unit.PER_SECOND, RATES, aim).is_met is met


def test_the_table_has_a_column_for_each_server_and_gaps_where_one_was_not_measured() -> None:
    rows = [
        GridRow("calls", Unit.PER_SECOND, RATES, GridAim(times_best=2)),
        GridRow("memory", Unit.MEBIBYTES, {"ours": [20]}, GridAim(at_most=25)),
    ]
    assert grid(rows).splitlines() == [
        "| what   | ours           | one           | other         | aim            | met |",
        "|--------|----------------|---------------|---------------|----------------|-----|",
        "| calls  | 600 /s (n 3)   | 100 /s (6.00) | 200 /s (3.00) | ≥ 2 × the best | yes |",
        "| memory | 20.0 MiB (n 1) |               |               | ≤ 25 MiB       | yes |",
    ]


def test_a_record_holds_the_numbers_of_each_server() -> None:
    kept = grid_record(GridRow("calls", Unit.PER_SECOND, RATES, GridAim(times_best=5)))
    assert kept.servers["ours"].median == 600
    assert kept.ratios == {"one": 6, "other": 3}
    assert (kept.aim, kept.met) == ("≥ 5 × the best", False)
