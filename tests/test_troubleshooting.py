"""The texts that docs/troubleshooting.md explains are those that the sources contain."""

import ast
import re
from functools import cache

import pytest

from tests.test_docs import ROOT

PAGE = ROOT / "docs/troubleshooting.md"
GAP = "…"
QUOTED = re.compile(r"^### `(.+)`$", re.MULTILINE)


def text_of(node: ast.AST) -> str | None:
    """A text of the sources, with a gap for each value in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(GAP if isinstance(part, ast.FormattedValue) else text_of(part) or "" for part in node.values)
    return None


def advice_of(node: ast.AST) -> str | None:
    """The text of an error with its `fix`, as a person reads it."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    fixes = [keyword.value for keyword in node.keywords if keyword.arg == "fix"] or node.args[1:2]
    said = [text_of(part) for part in (node.args[0], *fixes)]
    return "; ".join(text for text in said if text) if len(said) == 2 and said[0] else None


@cache
def texts() -> frozenset[str]:
    sources = (path.read_text() for path in sorted((ROOT / "src").rglob("*.py")))
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    return frozenset(text for node in nodes for text in (text_of(node), advice_of(node)) if text)


def is_said(quoted: str, said: frozenset[str]) -> bool:
    """Whether a text contains the quoted one, in which a gap stands for anything."""
    parts = [re.escape(part) for part in quoted.split(GAP)]
    pattern = re.compile(".*".join(parts), re.DOTALL)
    return any(pattern.search(text) for text in said)


@pytest.mark.parametrize("quoted", QUOTED.findall(PAGE.read_text()))
def test_a_text_that_is_explained_exists(quoted: str) -> None:
    assert len(quoted.replace(GAP, "").strip("; ")) > 10
    assert is_said(quoted, texts())


def test_every_section_is_a_text_and_none_stands_twice() -> None:
    page = PAGE.read_text()
    quoted = QUOTED.findall(page)
    assert len(quoted) == page.count("\n### ") == len(set(quoted)) > 15


def test_a_text_that_nobody_says_is_noticed() -> None:
    said = frozenset({"cannot read …: …; fix the file"})
    assert is_said("cannot read …: …; fix the file", said)
    assert is_said("cannot read …; fix", said)
    assert not is_said("cannot write …: …; fix the file", said)
