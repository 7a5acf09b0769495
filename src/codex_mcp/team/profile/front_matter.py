"""Pure. The head of a Markdown file between two lines `---`, in the subset of YAML that people use there.

`key: value`, where the value is plain, quoted, a list (`[a, b]` or lines `- a`), or a block (`|`, `>`); and comments. A
plain value may contain a colon, which YAML forbids and half of all agent files have. Nested values are skipped: they
are meant for other programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, TypeAlias

Value: TypeAlias = str | tuple[str, ...]

FENCE: Final = "---"

_KEY: Final = re.compile(r"([A-Za-z_][\w.-]*)\s*:(?:\s+(.*)|)")
_BLOCK: Final = re.compile(r"([|>])[+-]?\d?[+-]?")
_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#.*")
_QUOTED: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:\s#.*)?""")
_ITEM: Final = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*|[^\s,"'\[\]{}][^,\[\]{}]*)(?:,|$)""")


def split(text: str) -> tuple[dict[str, Value], str]:
    """The values of the head, and the text below it; without a head, the whole text. Raises ValueError: a sentence."""
    lines = re.split(r"(?<=\n)", text.removeprefix("\ufeff"))
    if lines[0].rstrip() != FENCE:
        return {}, "".join(lines)
    for end, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            return _values([each.rstrip() for each in lines[1:end]]), "".join(lines[end + 1 :])
    raise ValueError("its head begins with --- on line 1 and has no --- at its end")


def _values(lines: Sequence[str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 2
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number} of its head is not `key: value`")
        key = found.group(1)
        if key in values:
            raise ValueError(f"line {number} of its head has {key} a second time")
        below = _below(lines, at)
        at += len(below)
        try:
            values[key] = _value((found.group(2) or "").strip(), below)
        except ValueError as error:
            raise ValueError(f"line {number} of its head: {error}") from error
    return values


def _below(lines: Sequence[str], at: int) -> list[str]:
    """The lines that belong to the key above: indented lines, items of a list, and empty lines between them."""
    count = 0
    for offset, line in enumerate(lines[at:], 1):
        if line[:1] in (" ", "\t") or line == "-" or line.startswith("- "):
            count = offset
        elif line:
            break
    return list(lines[at : at + count])


def _value(text: str, below: Sequence[str]) -> Value:
    block = _BLOCK.fullmatch(_without_comment(text))
    if block is not None:
        return _block(below, folded=block.group(1) == ">")
    lines = [line.strip() for line in below if line.strip() and not line.lstrip().startswith("#")]
    if text.startswith("["):
        return _inline_list(" ".join([text, *lines]))
    if text[:1] in ('"', "'"):
        return _quoted(" ".join([text, *lines]))
    plain = _without_comment(text)
    if plain or not lines:
        return " ".join([plain, *lines])
    if lines[0] == "-" or lines[0].startswith("- "):
        return tuple(_scalar(line[1:].strip()) for line in lines if line == "-" or line.startswith("- "))
    return ""  # something nested


def _scalar(text: str) -> str:
    return _quoted(text) if text[:1] in ('"', "'") else _without_comment(text)


def _without_comment(text: str) -> str:
    return _COMMENT.sub("", text).rstrip()


def _quoted(text: str) -> str:
    found = _QUOTED.fullmatch(text)
    if found is None:
        raise ValueError("a quote is not closed, or something follows it")
    return _unquoted(found.group(1))


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    try:
        found = str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]  # an escape that only YAML has: better shown than refused
    return found.encode(errors="replace").decode()  # half of a surrogate pair is not a character


def _inline_list(text: str) -> tuple[str, ...]:
    inner, closed, rest = text[1:].rpartition("]")
    if not closed or _without_comment(rest.lstrip()):
        raise ValueError("a list is not closed, or something follows it")
    items: list[str] = []
    at = 0
    while inner[at:].strip():
        found = _ITEM.match(inner, at)
        if found is None:
            raise ValueError("a list has an item that is neither a plain nor a quoted text")
        item = found.group(1).strip()
        items.append(_unquoted(item) if item[0] in "\"'" else item)
        at = found.end()
    return tuple(items)


def _block(lines: Sequence[str], *, folded: bool) -> str:
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(indents, default=0)
    shifted = [line[margin:] for line in lines]
    if not folded:
        return "\n".join(shifted).strip("\n")
    paragraphs = "\n".join(shifted).strip("\n").split("\n\n")
    return "\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)
