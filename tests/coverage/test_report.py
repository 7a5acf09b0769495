"""How much of a package its tests run, and what is too little."""

from tests.coverage.__main__ import packages, pure_files
from tests.coverage.report import File, Report, Summary, below, missing, percent, raised

HALF = File(Summary(covered_lines=5, num_statements=8, covered_branches=1, num_branches=4), [6, 7, 8], [(2, 6), (7, 8)])


def test_lines_and_branches_count_alike() -> None:
    assert percent(Report({"a": HALF})) == 50.0
    assert percent(Report({})) == 100.0


def test_of_pure_files_everything_that_was_not_run_is_named_once() -> None:
    report = Report({"pure.py": HALF, "other.py": HALF})
    assert missing(report, frozenset({"pure.py"})) == ["pure.py:6", "pure.py:7", "pure.py:8", "pure.py:2->6"]


def test_a_package_below_its_floor_is_named() -> None:
    assert below({"a": 90.0, "b": 90.0, "c": 90.0}, {"a": 90.0, "b": 90.1}) == [
        "b: 90.0 % is less than its floor of 90.1 %",
        "c has no floor; set it with RAISE=--raise",
    ]


def test_floors_only_rise() -> None:
    assert raised({"b": 90.04, "a": 80.0}, {"a": 85.0, "b": 85.0}) == {"a": 85.0, "b": 89.5}


def test_every_package_is_measured_and_pure_files_are_known() -> None:
    assert {"base", "cli", "codex", "mcp", "threads", "wire"} <= set(packages())
    assert "src/codex_mcp/codex/facts.py" in pure_files()
