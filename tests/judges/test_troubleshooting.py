"""The texts of clients and of Codex that docs/troubleshooting.md explains are in their programs."""

import mmap
import re
from pathlib import Path

from tests.support.clients.judges import judge, newest_codex
from tests.test_docs import ROOT, table_rows

COMPOSED = {
    "MCP error -32001: Request timed out": ("MCP error ", "Request timed out"),
    "spawn codex-mcp ENOENT": ("spawn ", "ENOENT"),
}
"""Texts that a program puts together from parts."""


def explained() -> list[str]:
    rows = table_rows(ROOT / "docs/troubleshooting.md")
    return [text for row in rows if row[0].startswith("`") for text in re.findall("`([^`]+)`", row[0])]


def are_in(program: Path, parts: list[str]) -> set[str]:
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return {part for part in parts if text.find(part.encode()) >= 0}


def test_every_text_of_a_peer_is_in_its_program() -> None:
    assert len(explained()) > 8
    parts = [part for text in explained() for part in COMPOSED.get(text, (text,))]
    found = are_in(Path(judge("claude")), parts) | are_in(newest_codex(), parts)
    assert sorted(set(parts) - found) == []
