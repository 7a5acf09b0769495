"""The documentation is true as far as a machine can tell: links lead somewhere, examples parse, settings and files are
those that exist."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from codex_mcp.base.settings.groups import SETTINGS
from tests.mutants.table import mutants
from tests.support import commands_page, llms_page, promises_page, settings_page, versions_page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PICTURE = re.compile(r'<img src="([^"]+)"')
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), ROOT / "llms.txt", *(ROOT / "docs").rglob("*.md")])


def prose(page: Path) -> str:
    """The page without its code, where brackets are no links and # begins no heading."""
    return re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(page: Path) -> Iterator[str]:
    for link in [*LINK.findall(prose(page)), *PICTURE.findall(prose(page))]:
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


def test_the_tables_of_settings_are_those_that_make_settings_writes() -> None:
    page = (ROOT / "docs/settings.md").read_text()
    assert page == settings_page.generated(page), "run make settings"


def test_the_pages_are_those_that_make_pages_writes() -> None:
    page = versions_page.PAGE.read_text()
    assert page == versions_page.generated(page), "run make pages"
    assert all((ROOT / "tests" / name).is_dir() for one in versions_page.tested() for name in one.tests.split(", "))
    readme = (ROOT / "README.md").read_text()
    assert all(one.version in readme for one in versions_page.tested()[:6]), "correct the table in README.md"
    assert llms_page.FILE.read_text() == llms_page.generated(), "run make pages"
    assert commands_page.PAGE.read_text() == commands_page.generated(), "run make pages"


def test_the_index_leads_to_every_page() -> None:
    index = {link.partition("#")[0] for link in LINK.findall((ROOT / "docs/README.md").read_text())}
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(written - index) == []


def test_the_architecture_has_a_row_for_every_package_and_no_other() -> None:
    sources = ROOT / "src/codex_mcp"
    packages = {str(path.parent.relative_to(sources)) for path in sources.glob("*/**/__init__.py")}
    named = [row[0].strip("`/") for row in table_rows(ROOT / "ARCHITECTURE.md") if re.fullmatch(r"`[\w/]+/`", row[0])]
    assert sorted(named) == sorted(packages)


def test_every_promise_names_defects_that_tests_notice() -> None:
    known = {mutant.breaks for mutant in mutants()}
    promised = [promise for section in promises_page.promised() for promise in section["promise"]]
    empty = [each["says"] for each in promised if not each["broken"] or not known.issuperset(each["broken"])]
    assert empty == []
    assert promises_page.PAGE.read_text() == promises_page.page(), "run make pages"
