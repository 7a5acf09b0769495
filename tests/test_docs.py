"""The documentation is true as far as a machine can tell: links lead somewhere, examples parse."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def prose(page: Path) -> str:
    """The page without its code, where brackets are no links and # begins no heading."""
    return re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> Iterator[str]:
    for link in LINK.findall(prose(page)):
        if re.match(r"\w+:", link):
            continue  # an address elsewhere: no test of ours depends on a network
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{page.relative_to(ROOT)}: {link}"


def test_every_link_leads_somewhere() -> None:
    assert [dead for page in pages() for dead in dead_links(page)] == []


def test_every_json_and_toml_example_parses() -> None:
    parsers = {"json": json.loads, "toml": tomllib.loads}
    for page in pages():
        for language, example in FENCE.findall(page.read_text()):
            try:
                parsers.get(language, str)(example)
            except ValueError as exc:
                raise AssertionError(f"{page.relative_to(ROOT)}: cannot parse an example: {exc}:\n{example}") from exc
