"""The YAML files of the repository, read by a real parser: what they run exists. (The parser comes with the judges.)"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.judges import NODE_MODULES, ROOT, node
from tests.support.patience import PATIENCE

FILES = sorted([*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"])

READ = """
const {parse} = require("yaml");
console.log(JSON.stringify(parse(require("fs").readFileSync(0, "utf8"))));
"""


def read(path: Path) -> Any:
    """The content of a YAML file."""
    argv = [node(), "-e", READ]
    ended = subprocess.run(
        argv, input=path.read_bytes(), capture_output=True, cwd=NODE_MODULES, check=True, timeout=PATIENCE
    )
    return json.loads(ended.stdout)


def texts(value: object) -> Iterator[str]:
    """Every text inside of a value."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def targets() -> set[str]:
    return set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_target_and_program_that_it_runs_exists(path: Path) -> None:
    for text in texts(read(path)):
        for target in re.findall(r"(?m)^make (\S+)", text):
            assert target in targets(), text
        for program in re.findall(r"(?m)^\.venv/bin/(\S+)", text):
            assert (Path(sys.executable).parent / program).exists(), text


def test_hosted_ci_runs_every_gate_on_every_supported_python() -> None:
    linux = read(ROOT / ".github/workflows/ci.yml")["jobs"]["linux"]
    supported = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert linux["strategy"]["matrix"]["python"] == supported
    check = re.search(r"(?m)^check: ([a-z ]+)", (ROOT / "Makefile").read_text())
    assert check is not None
    run = {step["run"] for step in linux["steps"] if "run" in step}
    assert {f"make {gate}" for gate in check[1].split()} <= run


def test_hosted_ci_tests_the_lowest_versions_with_the_lowest_python() -> None:
    jobs = read(ROOT / ".github/workflows/ci.yml")["jobs"]
    assert [step["run"] for step in jobs["lowest"]["steps"] if "run" in step][-2:] == ["make setup", "make lowest"]
    lowest = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())[0]
    assert [step["with"]["python-version"] for step in jobs["lowest"]["steps"] if "with" in step] == [lowest]


def test_a_release_is_checked_before_it_is_built_and_built_before_it_is_published() -> None:
    jobs = read(ROOT / ".github/workflows/release.yml")["jobs"]
    runs = [step["run"] for step in jobs["packages"]["steps"] if "run" in step]
    assert runs[-2:] == ["make check", "make release TAG=${{ github.ref_name }}"]
    assert [jobs[name]["needs"] for name in ("index", "github")] == ["packages", "index"]


def test_a_new_codex_runs_without_rights_and_its_table_becomes_an_issue() -> None:
    flow = read(ROOT / ".github/workflows/new-codex.yml")
    assert flow["on"]["schedule"]
    assert flow["permissions"] == {"contents": "read"}
    run, report = flow["jobs"]["run"], flow["jobs"]["report"]
    assert "permissions" not in run
    assert "secrets" not in json.dumps(run)
    (command,) = [step["run"] for step in run["steps"] if step.get("id") == "codex"]
    assert command.startswith("make codex VERSION=latest NEW=yes OUT=table.md")
    assert report["permissions"] == {"issues": "write"}
    assert "gh issue create" in report["steps"][-1]["run"]
    assert "${{" not in report["steps"][-1]["run"]  # what the run wrote is never part of a script


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_issues_ask_for_the_output_of_doctor(name: str) -> None:
    form = read(ROOT / f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form.keys() == {"name", "description", "body"}
    (doctor,) = [field for field in form["body"] if field.get("id") == "doctor"]
    assert "codex-mcp doctor" in doctor["attributes"]["label"]
    kinds = {field["type"] for field in form["body"]}
    assert kinds <= {"markdown", "textarea", "input"}
    if name == "bug":
        assert doctor["validations"]["required"] is True


def test_every_hook_runs_what_the_repository_pins() -> None:
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        assert hook.keys() >= {"id", "name", "entry", "language"}
        assert hook["language"] == "system"
        assert hook["entry"].startswith(("make ", ".venv/bin/"))
