"""What the report says of what was measured."""

import pytest

from benchmarks.rows import Aim, Row, Unit, record, table

TWICE = Row("a thing", Unit.MILLISECONDS, [10, 20, 30], [20, 40, 60])


def test_the_ratio_is_of_the_medians() -> None:
    assert TWICE.ratio == 2
    assert TWICE.is_met is None


@pytest.mark.parametrize(
    ("aim", "met"),
    [
        (Aim(at_most=40), True),
        (Aim(at_most=39), False),
        (Aim(times_theirs=2), True),
        (Aim(times_theirs=1.9), False),
        (Aim(at_least=40), True),
        (Aim(at_least=41), False),
        (Aim(at_least_times=2), True),
        (Aim(at_least_times=2.1), False),
    ],
)
def test_an_aim_is_a_number_or_a_multiple_of_theirs(aim: Aim, met: bool) -> None:  # noqa: FBT001  a column of the table
    assert Row("a thing", Unit.MILLISECONDS, [10, 20, 30], [20, 40, 60], aim).is_met is met


def test_what_we_add_is_compared_with_the_aim_and_not_the_whole() -> None:
    row = Row("added", Unit.MILLISECONDS, [70.0], [70.5], Aim(at_most=1), is_difference=True)
    assert row.our_number == 0.5
    assert row.is_met
    assert "+0.50 ms: 70.5 ms" in table([row])


def test_another_quantile_than_the_median_can_stand_for_the_samples() -> None:
    row = Row("worst", Unit.MILLISECONDS, [1, 2], [1, 4], part=1.0)
    assert (row.their_number, row.our_number, row.ratio) == (2, 4, 2)


def test_the_table_is_text_and_markdown() -> None:
    aim = Aim(times_theirs=0.5)
    assert table([Row("a thing", Unit.PER_SECOND, [1500, 1500], [800, 900], aim)]).splitlines() == [
        "| what    | theirs         | ours                           | ratio | aim     | met |",
        "|---------|----------------|--------------------------------|-------|---------|-----|",
        "| a thing | 1,500 /s (n 2) | 850 /s (825–875, min 800, n 2) | 0.57  | ≤ 0.5 × | NO  |",
    ]


def test_what_only_ours_has_is_compared_with_nothing() -> None:
    row = Row("alone", Unit.KIBIBYTES, (), [20, 30, 40], Aim(at_most=40))
    assert (row.ratio, row.is_met) == (None, True)
    assert (
        table([row]).splitlines()[2]
        == "| alone |        | 30.0 KiB (25.0–35.0, min 20.0, n 3) |       | ≤ 40 KiB | yes |"
    )
    assert record(row).theirs is None


def test_a_record_holds_what_the_table_shows() -> None:
    kept = record(TWICE)
    assert kept.theirs is not None
    assert (kept.theirs.median, kept.ours.median, kept.ratio, kept.difference, kept.aim) == (20, 40, 2, None, None)
