"""Pure. The text of an agent, read as a small part of Markdown: paragraphs, headings, lists, code, bold, links.

Nothing of it becomes HTML here: a template shows each part as text. Whatever is not understood stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})\s*([^`\n]{0,40})")
HEADING: Final = re.compile(r"(#{1,6})\s+(\S.*)")
BULLET: Final = re.compile(r"(\s{0,8})([-*+]|\d{1,6}[.)])\s+(\S.*)")
INLINE: Final = re.compile(
    r"(?P<code>`[^`\n]{1,2000}`)|\*\*(?P<bold>[^*\n]{1,2000})\*\*"
    r"|\[(?P<label>[^][\n]{1,500})\]\((?P<url>https?://[^\s()<>]{1,2000})\)|(?P<bare>https?://[^\s()<>\"'`]{1,2000})"
)
HOST: Final = re.compile(r"https?://([^/?#\s]*)")

MOST_BLOCKS: Final = 400


class Span(Struct, frozen=True, omit_defaults=True):
    text: str
    kind: str = ""
    """`code`, `bold`, `link`, or empty."""
    href: str = ""
    host: str = ""
    """Of a link whose text does not say where it leads."""


class Block(Struct, frozen=True, omit_defaults=True):
    kind: str
    """`text`, `head`, `code`, `bullets` or `numbers`."""
    items: Sequence[Sequence[Span]] = ()
    """Of a list, its entries; otherwise one."""
    start: int = 1
    """The number of a list's first entry."""


def prose(text: str) -> list[Block]:
    """Blocks in order; beyond `MOST_BLOCKS`, the rest is one text as it was written."""
    lines = text.split("\n")
    found: list[Block] = []
    at = 0
    while at < len(lines):
        if len(found) >= MOST_BLOCKS:
            rest = "\n".join(lines[at:])
            return [*found, Block("code", [[Span(rest)]])]
        block, at = _block(lines, at)
        if block is not None:
            found.append(block)
    return found


def _block(lines: Sequence[str], at: int) -> tuple[Block | None, int]:
    line = lines[at]
    if not line.strip():
        return None, at + 1
    if (fence := FENCE.fullmatch(line.rstrip())) is not None:
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == fence[1]), len(lines))
        return Block("code", [[Span("\n".join(lines[at + 1 : end]))]]), end + 1
    if (heading := HEADING.fullmatch(line.strip())) is not None:
        return Block("head", [spans(heading[2])]), at + 1
    if BULLET.fullmatch(line.rstrip()) is not None:
        return _list(lines, at)
    end = at + 1
    while end < len(lines) and not _begins(lines[end]):
        end += 1
    return Block("text", [spans("\n".join(lines[at:end]))]), end


def _begins(line: str) -> bool:
    """Whether another block begins here, or the one before has ended."""
    kept = line.rstrip()
    return not kept or any(each.fullmatch(kept) for each in (FENCE, BULLET)) or HEADING.fullmatch(kept) is not None


def _list(lines: Sequence[str], at: int) -> tuple[Block, int]:
    first = BULLET.fullmatch(lines[at].rstrip())
    assert first is not None
    is_numbered = first[2][0].isdigit()
    entries: list[str] = []
    while at < len(lines) and lines[at].strip():
        entry = BULLET.fullmatch(lines[at].rstrip())
        if entry is not None and entry[2][0].isdigit() is is_numbered:
            entries.append(entry[3])
        elif entry is None and lines[at].startswith("  ") and FENCE.fullmatch(lines[at].rstrip()) is None:
            entries[-1] += "\n" + lines[at].strip()
        else:
            break
        at += 1
    start = int(first[2][:-1]) if is_numbered else 1
    return Block("numbers" if is_numbered else "bullets", [spans(each) for each in entries], start), at


def spans(text: str) -> list[Span]:
    return list(_spans(text))


def _spans(text: str) -> Iterator[Span]:
    done = 0
    for found in INLINE.finditer(text):
        if found.start() > done:
            yield Span(text[done : found.start()])
        done = found.end()
        if found["code"]:
            yield Span(found["code"][1:-1], "code")
        elif found["bold"]:
            yield Span(found["bold"], "bold")
        elif found["url"]:
            yield Span(found["label"], "link", found["url"], _host(found["url"]))
        else:
            yield Span(found["bare"], "link", found["bare"])
    if done < len(text):
        yield Span(text[done:])


def _host(url: str) -> str:
    found = HOST.match(url)
    return found[1].rpartition("@")[2] if found is not None else ""
