"""Every requirement of the team has a test that is marked with it, or waits for mail."""

import ast
from functools import cache
from pathlib import Path

from tests.support.requirement_table import REQUIREMENTS, WAITS_FOR_MAIL

TESTS = Path(__file__).parent


@cache
def shown() -> dict[str, list[str]]:
    """The requirements that tests are marked with, and those tests."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for name, test in marks_in(path.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(f"{path.relative_to(TESTS)}::{test}")
    return found


def marks_in(source: str) -> list[tuple[str, str]]:
    """Each requirement that a test of this source is marked with, and the test."""
    return [
        (word.value, node.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "requirement"
        for word in mark.args
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    ]


def test_every_requirement_has_a_test_or_waits_for_mail() -> None:
    missing = sorted(REQUIREMENTS.keys() - shown().keys() - WAITS_FOR_MAIL)
    assert not missing, "\n".join(
        [
            "no test shows:",
            *(f"  {name}: {REQUIREMENTS[name]}" for name in missing),
            "these wait for mail:",
            *(f"  {name}: {REQUIREMENTS[name]}" for name in REQUIREMENTS if name in WAITS_FOR_MAIL),
        ]
    )


def test_nothing_waits_for_mail_that_has_a_test() -> None:
    assert {name: tests for name, tests in shown().items() if name in WAITS_FOR_MAIL} == {}


def test_tests_name_only_requirements_that_there_are() -> None:
    assert {name: tests for name, tests in shown().items() if name not in REQUIREMENTS} == {}
    assert REQUIREMENTS.keys() >= WAITS_FOR_MAIL


def test_marks_are_found() -> None:
    source = '@requirement("FR-1.1", "NFR-2")\nasync def test_it(): ...\n@other("FR-1.2")\ndef test_that(): ...\n'
    assert marks_in(source) == [("FR-1.1", "test_it"), ("NFR-2", "test_it")]
