"""A commit is released only under its own version, with a changelog, from a real repository."""

from tests.packages.release import PLACEHOLDER, problems

READY = "# Changelog\n\n## 1.2.0\n\n## 1.1.0\n"


def test_a_ready_commit_has_no_problems() -> None:
    assert [*problems("v1.2.0", "1.2.0", READY, [])] == []


def test_every_problem_is_named() -> None:
    assert [*problems("", "1.3.0", READY, ["server.json", "pyproject.toml"])] == [
        "the tag is missing, and src/codex_mcp/__init__.py says 1.3.0",
        "the first section of CHANGELOG.md is not 1.3.0",
        f"{PLACEHOLDER} must be replaced by the real repository in server.json, pyproject.toml",
    ]
