"""The Homebrew formula: its syntax, and what it says of the release that it was made for."""

import fnmatch
import hashlib
import re
import tomllib
from pathlib import Path

import pytest

from codex_mcp import __version__
from tests.packages.formula import ROOT, TEMPLATE, filled, main

TEXT = r'"(?:[^"\\#]|#\{[a-z_]+\})*"'
PATH = rf"[a-z]+(?:/{TEXT})?"
VALUE = rf"(?:{TEXT}|{PATH}|\*[a-z]+|[a-z]+\.[a-z_]+|Dir\[{PATH}\]|[a-z_]+\({TEXT}\))"
LIST = rf"{VALUE}(?:, {VALUE})*"

OPENS = (r"class [A-Z]\w* < [A-Z]\w*", r"def [a-z_]+", r"[a-z_]+ do")
STATEMENTS = (
    r"#.*",
    rf"[a-z_0-9]+(?:\.[a-z_]+)? {LIST}",
    rf"[a-z_0-9]+\({LIST}\)",
    rf"[a-z_]+ [a-z_]+: \[{LIST}\]",
    rf"[a-z_]+ = \[{LIST}\]",
)
"""The forms of Ruby that the formula has; `ruby -c` accepts all of them."""


def faults(source: str) -> list[str]:
    """Lines that have no form that Ruby knows, or are not where their indentation says; and blocks without an end."""
    wrong, depth = [], 0
    for line in source.splitlines():
        text = line.strip()
        depth -= text == "end"
        is_known = text in ("", "end") or any(re.fullmatch(form, text) for form in (*OPENS, *STATEMENTS))
        if not is_known or depth < 0 or (text and line != "  " * depth + text):
            wrong.append(line)
        depth += any(re.fullmatch(form, text) for form in OPENS)
    return [*wrong, *["no end"] * (depth != 0)]


def test_the_syntax_is_that_of_ruby() -> None:
    assert faults(TEMPLATE.read_text()) == []


@pytest.mark.parametrize(
    "change",
    [("  end\n", ""), ('"git"', '"git'), ("def install", "def install("), ("pip = [", "pip = "), ("end\n", "}\n")],
)
def test_a_broken_formula_is_noticed(change: tuple[str, str]) -> None:
    assert faults(TEMPLATE.read_text().replace(*change, 1)) != []


def test_address_and_hash_are_those_of_the_release(tmp_path: Path) -> None:
    source = tmp_path / f"codex_mcp-{__version__}.tar.gz"
    source.write_bytes(b"what was built")
    assert main(tmp_path, tmp_path / "release/codex-mcp.rb") == 0
    formula = (tmp_path / "release/codex-mcp.rb").read_text()
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    assert f'  url "{repository}/releases/download/v{__version__}/{source.name}"\n' in formula
    assert f'  sha256 "{hashlib.sha256(b"what was built").hexdigest()}"\n' in formula
    assert f'  homepage "{repository}"\n' in formula
    assert "@" not in formula.replace("python@3.13", "")
    assert faults(formula) == []


def test_without_a_release_there_is_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tmp_path, tmp_path / "codex-mcp.rb") == 1
    assert "run make dist" in capsys.readouterr().err
    assert not (tmp_path / "codex-mcp.rb").exists()


def test_an_unknown_placeholder_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled("@nothing@", {})


def test_what_it_installs_is_locked_as_everywhere() -> None:
    """Each entry of requirements/runtime.txt is one of lock.txt, with its hashes, and every dependency has one."""
    assert '"--require-hashes", "--requirement", "requirements/runtime.txt"' in TEMPLATE.read_text()
    runtime, lock = (entries((ROOT / f"requirements/{name}.txt").read_text()) for name in ("runtime", "lock"))
    assert {name: entry for name, entry in runtime.items() if lock.get(name) != entry} == {}
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {name_of(each) for each in needed} - runtime.keys() == set()


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=; ]", requirement)[0]


def entries(lock: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Each package: its version, and its hashes."""
    found = re.findall(r"(?m)^([a-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)[^\n]*\n((?:    [^\n]+\n?)*)", lock)
    return {name: (version, frozenset(re.findall(r"sha256:\w+", hashes))) for name, version, hashes in found}


def test_the_programs_that_it_links_exist_and_tell_their_version() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    linked = re.findall(r'bin/(codex-[a-z-]+\*?)"', TEMPLATE.read_text())
    found = {pattern: fnmatch.filter(scripts, pattern) for pattern in linked}
    assert [pattern for pattern, names in found.items() if not names] == []
    assert {name for names in found.values() for name in names} == set(scripts)
