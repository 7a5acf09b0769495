"""No mapping of our YAML files has a key twice. Parsers refuse that or keep the last one, and a merge can cause it.

The judges bring a real parser (tests/judges/test_workflows.py); this runs without them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"])

KEY = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[^\s#"'\[{&*!|>%@`:-][^:]*?)\s*:(?=\s|$)""")
BLOCK_TEXT = re.compile(r"[|>][-+0-9]*\s*(#.*)?$")


def entries(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Each key in block style with its line and column; a `-`, which begins a mapping of its own, has no key."""
    text_column: int | None = None  # the lines of a text in block style stand to the right of it
    for number, line in enumerate(text.splitlines(), 1):
        rest = line.lstrip()
        column = len(line) - len(rest)
        if not rest or (text_column is not None and column > text_column):
            continue
        text_column = None
        while rest.startswith("- "):
            yield number, column, None
            rest = rest[1:].lstrip()
            column = len(line) - len(rest)
        if match := KEY.match(rest):
            yield number, column, match["key"].strip("\"'")
            text_column = column if BLOCK_TEXT.search(rest[match.end() :]) else None


def keys_twice(text: str) -> list[str]:
    """Each line with a key that its mapping already has: `3: name`."""
    found: list[str] = []
    mappings: dict[int, set[str]] = {}  # those that surround the line, by their columns
    for number, column, key in entries(text):
        mappings = {at: keys for at, keys in mappings.items() if at <= column}
        if key is None:
            continue
        keys = mappings.setdefault(column, set())
        if key in keys:
            found.append(f"{number}: {key}")
        keys.add(key)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_mapping_has_a_key_twice(path: Path) -> None:
    assert keys_twice(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ("jobs:\n  one:\n    a: 1\n  two:\n    a: 1\n", []),
        ("jobs:\n  one:\n    a: 1\n\n  # again\n  one:\n    b: 1\n", ["6: one"]),
        ("a: 1\nb: 2\n'a': 3\n", ["3: a"]),
        ("on:\n  push:\nname: x\non:\n", ["4: on"]),
        ("steps:\n  - run: x\n  - run: y\n    with:\n      v: 1\n", []),
        ("steps:\n  - run: x\n    name: n\n    run: y\n", ["4: run"]),
        ("- - a: 1\n    a: 2\n  - a: 3\n", ["2: a"]),
        ("run: |\n  a: 1\n  a: 2\nrest: x\n", []),
        ("run: >-  # text\n\n  a: 1\n  a: 2\nrun: x\n", ["5: run"]),
        ("a: {b: 1}\nc: 'd: e'\n# a: 2\n", []),
        ("- run: make x\n- run: make x\n", []),
    ],
)
def test_keys_are_told_apart_by_their_mapping(text: str, twice: list[str]) -> None:
    assert keys_twice(text) == twice
