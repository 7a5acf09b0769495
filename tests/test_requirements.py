"""Every requirement of the team has a test that is marked with it, unless it waits for a feature."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.support.requirements import requirements

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


def test_every_requirement_has_a_test_or_waits_for_a_feature() -> None:
    missing = [
        f"{name}: {each.text}"
        for name, each in requirements().items()
        if each.waits_for is None and name not in shown()
    ]
    assert missing == []


def test_no_requirement_that_waits_has_a_test_already() -> None:
    assert [name for name, each in requirements().items() if each.waits_for is not None and name in shown()] == []


def test_tests_name_only_requirements_that_exist() -> None:
    assert {name: tests for name, tests in shown().items() if name not in requirements()} == {}


def test_requirements_quote_the_request_with_its_numbers() -> None:
    """Each of these was once lost in a shortened version."""
    quoted = {
        "FR-2.1": "`developer-instructions`",
        "FR-7.2": "10-second timeout",
        "FR-11.2": "MUST NOT auto-restart",
        "FR-14.1": "default: 300s",
    }
    assert {name: words in requirements()[name].text for name, words in quoted.items()} == dict.fromkeys(quoted, True)
    assert len(requirements()) == 91


def test_a_deviation_is_explained() -> None:
    short = [name for name, each in requirements().items() if each.deviation is not None and len(each.deviation) < 40]
    assert short == []
    assert requirements()["FR-11.2"].deviation is not None
    assert requirements()["FR-14.1"].deviation is not None


def test_users_read_of_every_deviation() -> None:
    page = (TESTS.parent / "docs/compatibility.md").read_text(encoding="utf-8")
    section = page.partition("\n## The team\n")[2].partition("\n## ")[0]
    differences = [row.split("|")[1] for row in section.splitlines() if row.startswith("|")]
    told = set(re.findall(r"\bN?FR-[\d.]*\d", " ".join(differences)))
    assert told == {name for name, each in requirements().items() if each.deviation is not None}


def test_marks_are_found() -> None:
    source = '@requirement("FR-1.1", "NFR-2")\nasync def test_it(): ...\n@other("FR-1.2")\ndef test_that(): ...\n'
    assert marks_in(source) == [("FR-1.1", "test_it"), ("NFR-2", "test_it")]
