"""The clauses of the documents that the product was built from: the text of each document, and a table that says of
each of its numbered and bulleted clauses which tests show it, or how and why the product differs."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parents[1] / "documents"

DOCUMENTS = ("multi_session", "exec_server", "mcp_server", "named_sessions", "team")
"""Each has its text and its table in this folder."""

ITEM = re.compile(r"(?P<indent>\s*)(?:[-•*]|\d+[.)])\s+(?P<text>\S.*)")


class Clause(msgspec.Struct, frozen=True):
    text: str
    is_heading: bool = False
    """Clauses below it say what it means."""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the table says of a clause."""

    text: str
    tests: tuple[str, ...] = ()
    """`PATH::NAME`, the path below `tests/`."""
    requirements: tuple[str, ...] = ()
    """Those of tests/requirements.toml that it is or belongs to; they have tests that are marked with them."""
    deviation: str | None = None
    """What the product does differently, and why a user of the document would agree."""
    docs: str | None = None
    """The page, and its section, that tells users of the deviation."""


def clauses(document: str) -> list[Clause]:
    """The items of all lists of a text, without code blocks. An item ends with an empty line."""
    found: list[tuple[int, list[str]]] = []
    current: list[str] | None = None
    is_code = False
    for line in document.splitlines():
        if line.strip().startswith("```"):
            is_code, current = not is_code, None
        elif is_code:
            continue
        elif (item := ITEM.fullmatch(line)) is not None:
            current = [item["text"].strip()]
            found.append((len(item["indent"]), current))
        elif current is not None and line.strip():
            current.append(line.strip())
        else:
            current = None
    below = [*[indent for indent, _ in found][1:], 0]
    return [
        Clause(" ".join(lines), is_heading=following > indent)
        for (indent, lines), following in zip(found, below, strict=True)
    ]


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@cache
def table(name: str) -> Mapping[str, Row]:
    """The rows of a document by the number of their clause."""
    return msgspec.convert(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")), dict[str, Row])


def differences(written: Sequence[Clause], rows: Mapping[str, Row]) -> list[str]:
    """Where a table is not that of its document."""
    told = [
        f"clause {number} is {written[number - 1].text!r}, and the table has {rows.get(str(number))}"
        for number in range(1, len(written) + 1)
        if str(number) not in rows or rows[str(number)].text != written[number - 1].text
    ]
    return told + [f"there is no clause {number}" for number in rows if not 1 <= int(number) <= len(written)]
