"""How much of a package its tests run, and what is too little."""

from tests.coverage.__main__ import packages, pure_files
from tests.coverage.report import File, Region, Report, Summary, below, beyond, lowered, missing, percent, raised

HALF = Region(
    Summary(covered_lines=5, num_statements=8, covered_branches=1, num_branches=4), [6, 7, 8], [(2, 6), (7, 8)]
)
IMPORTED = Region(Summary(covered_lines=0, num_statements=12, covered_branches=0, num_branches=0), [1, 2, 3])


def test_lines_and_branches_count_alike_and_what_an_import_runs_as_run() -> None:
    assert percent(Report({"a": File({"f": HALF})})) == 50.0
    assert percent(Report({"a": File({"": IMPORTED, "f": HALF})})) == 75.0
    assert percent(Report({})) == 100.0


def test_of_the_functions_of_pure_files_everything_that_was_not_run_is_named_once() -> None:
    file = File({"": IMPORTED, "f": HALF})
    report = Report({"pure.py": file, "other.py": file})
    assert missing(report, frozenset({"pure.py", "none.py"})) == {"pure.py": ["6", "7", "8", "2->6"]}


def test_of_a_pure_file_nothing_may_be_left_out_unless_it_is_in_the_table() -> None:
    left_out = {"a": ["6", "2->6"], "b": ["7"]}
    assert beyond(left_out, {"a": 2, "b": 1}) == []
    assert beyond(left_out, {"a": 1}) == [
        "a: the tests of its package do not run 6, 2->6; 1 places are allowed",
        "b: the tests of its package do not run 7",
    ]
    assert lowered(left_out, {"a": 5, "c": 3}) == {"a": 2}


def test_a_package_below_its_floor_is_named() -> None:
    assert below({"a": 90.0, "b": 90.0, "c": 90.0}, {"a": 90.0, "b": 90.1}) == [
        "b: 90.0 % is less than its floor of 90.1 %",
        "c has no floor; set it with RAISE=--raise",
    ]


def test_floors_only_rise() -> None:
    assert raised({"b": 90.04, "a": 80.0}, {"a": 85.0, "b": 85.0}) == {"a": 85.0, "b": 89.0}


def test_every_package_is_measured_and_pure_files_are_known() -> None:
    assert {"base", "cli", "codex", "mcp", "threads", "wire"} <= set(packages())
    assert "src/codex_mcp/codex/facts.py" in pure_files()
