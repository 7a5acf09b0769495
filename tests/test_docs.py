"""The documentation is true as far as a machine can tell: links lead somewhere, examples parse, settings and files are
those that exist."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.base.settings.groups import SETTINGS
from codex_mcp.base.settings.kinds import Place

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


def table_rows(page: Path) -> list[list[str]]:
    """The cells of every row of a page's tables."""
    lines = page.read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


def test_every_setting_is_documented() -> None:
    named = {name for row in table_rows(ROOT / "docs/settings.md") for name in re.findall(r"`(\w+)`", row[0])}
    assert sorted(SETTINGS.keys() - named) == []


def in_bytes(text: str) -> float:
    """A number of the table, which may have a unit."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    return float(text[:-3]) * units[text[-3:]] if text[-3:] in units else float(text)


def documented_bounds() -> dict[str, tuple[float, float]]:
    """At least and at most, by setting."""
    bounds = ROOT / "docs/settings.md"
    rows = [row for row in table_rows(bounds) if len(row) == 4 and re.match(r"[\d.]+", row[1]) and row[2][0].isdigit()]
    return {name: (in_bytes(row[1]), in_bytes(row[2])) for row in rows for name in re.findall(r"`(\w+)`", row[0])}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_bounds_of_every_number_are_documented(name: str) -> None:
    """The error of a number that is too small names the bounds."""
    try:
        SETTINGS[name].kind("-1", Place("/", "/"))
        says = ""
    except ValueError as exc:
        says = str(exc)
    found = re.search(r"from ([\d.]+) to (\d+)", says)
    expected = None if found is None else (float(found[1]), float(found[2]))
    assert documented_bounds().get(name) == expected


def test_the_architecture_has_a_row_for_every_package_and_no_other() -> None:
    sources = ROOT / "src/codex_mcp"
    packages = {str(path.parent.relative_to(sources)) for path in sources.glob("*/**/__init__.py")}
    named = [row[0].strip("`/") for row in table_rows(ROOT / "ARCHITECTURE.md") if re.fullmatch(r"`[\w/]+/`", row[0])]
    assert sorted(named) == sorted(packages)
