"""The tables of clauses are complete, name tests that exist, and tell users of every deviation."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.clauses import DOCUMENTS, FOLDER, Clause, Row, clauses, differences, table, text_of
from tests.support.requirements import requirements

TESTS = Path(__file__).parent
ROOT = TESTS.parent

SHORTEST_REASON = 40


@cache
def names_of(path: str) -> frozenset[str]:
    """The names of the tests of a file."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return (TESTS / path).is_file() and name in names_of(path)


def sections(page: str) -> set[str]:
    """The addresses of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_told(place: str) -> bool:
    """Whether there is such a page with such a section."""
    page, _, section = place.partition("#")
    return (ROOT / page).is_file() and (not section or section in sections(page))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_table_has_every_clause_of_its_document_in_its_words(name: str) -> None:
    assert differences(clauses(text_of(name)), table(name)) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_clause_has_a_test_or_a_deviation_unless_it_is_a_heading(name: str) -> None:
    written = clauses(text_of(name))
    bare = [row.text for number, row in table(name).items() if not (row.tests or row.requirements or row.deviation)]
    assert [text for text in bare if Clause(text, is_heading=True) not in written] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_named_test_exists(name: str) -> None:
    assert [test for row in table(name).values() for test in row.tests if not exists(test)] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_deviation_has_a_reason_that_users_can_read(name: str) -> None:
    differing = [row for row in table(name).values() if row.deviation is not None or row.docs is not None]
    unexplained = [row.text for row in differing if len(row.deviation or "") < SHORTEST_REASON]
    assert unexplained == []
    assert [row.docs for row in differing if row.docs is None or not is_told(row.docs)] == []


def test_the_requirements_are_those_of_the_teams_document() -> None:
    """FR numbers are in the document; a requirement of NFR is all of its section."""
    document = text_of("team")
    numbered = dict(re.findall(r"^- \*\*(FR-[\d.]+)\*\*: (.+)$", document, re.MULTILINE))
    for number, body in re.findall(r"^### (NFR-\d+): [^\n]+\n(.*?)(?=^###|^---)", document, re.M | re.S):
        numbered[number] = " ".join(clause.text for clause in clauses(body))
    assert set(numbered) == set(requirements())
    flat = {
        name: " ".join(each.text.replace("\n- ", " ").split()).removeprefix("- ")
        for name, each in requirements().items()
    }
    assert [name for name, text in numbered.items() if not flat[name].startswith(" ".join(text.split()))] == []


def test_every_requirement_that_a_clause_belongs_to_exists_and_each_has_its_clause() -> None:
    named = [name for row in table("team").values() for name in row.requirements]
    assert set(named) == set(requirements())


def test_no_document_is_without_a_table() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in FOLDER.glob("*.toml")} == {*DOCUMENTS}


def test_items_of_lists_are_clauses_and_code_is_not() -> None:
    text = "Text\n- one\n  goes on\n  - below\n\n1) two\n```\n- code\n```\n• three\n# - no\n"
    assert clauses(text) == [
        Clause("one goes on", is_heading=True),
        Clause("below"),
        Clause("two"),
        Clause("three # - no"),
    ]


def test_a_changed_clause_and_one_too_many_are_noticed() -> None:
    written = [Clause("one"), Clause("two")]
    assert differences(written, {"1": Row("one"), "2": Row("two")}) == []
    assert len(differences(written, {"1": Row("one"), "2": Row("zwei")})) == 1
    assert len(differences(written, {"1": Row("one")})) == 1
    assert len(differences(written, {"1": Row("one"), "2": Row("two"), "3": Row("three")})) == 1


def test_a_test_and_a_section_that_do_not_exist_are_noticed() -> None:
    assert exists("test_clauses.py::test_no_document_is_without_a_table")
    assert not exists("test_clauses.py::test_nothing")
    assert not exists("test_missing.py::test_nothing")
    assert is_told("docs/compatibility.md#many-sessions-over-http")
    assert not is_told("docs/compatibility.md#no-such-section")
