"""Whether the sandbox works, asked of real and of broken Codexes."""

import os
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from codex_mcp.cli.demo.sandbox import Rights, find_rights


def codex_whose_sandbox(folder: Path, does: str) -> dict[str, str]:
    """An environment with a Codex on PATH that is real but for its sandbox."""
    codex = folder / "codex"
    codex.write_text(f'#!/bin/sh\n[ "$1" = sandbox ] && {{ {does}; }}\nexec "{bundled_codex_path()}" "$@"\n')
    codex.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "CODEX_HOME": str(folder)}


def rights(folder: Path, does: str) -> Rights:
    return find_rights(str(folder), codex_whose_sandbox(folder, does))


def test_with_a_sandbox_commands_may_read_and_changes_are_asked_for(tmp_path: Path) -> None:
    found = rights(tmp_path, "exit 0")
    assert (found.sandbox, found.approval_policy, found.trouble) == ("read-only", "on-request", "")
    assert found.codex_version.startswith("0.16")


def test_without_one_everything_is_asked_for_and_the_reason_is_known(tmp_path: Path) -> None:
    found = rights(tmp_path, "echo noise >&2; echo 'bwrap: No permissions' >&2; exit 1")
    assert (found.sandbox, found.approval_policy, found.trouble) == (
        "danger-full-access",
        "untrusted",
        "bwrap: No permissions",
    )


def test_a_sandbox_that_fails_without_a_word_is_described_by_its_exit_code(tmp_path: Path) -> None:
    assert rights(tmp_path, "exit 7").trouble == "exit code 7"


def test_a_sandbox_that_hangs_does_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_mcp.cli.demo.sandbox.PATIENCE", 0.2)
    assert rights(tmp_path, "exec sleep 60").trouble == "not finished after 0 s"


def test_the_real_codex_is_asked(tmp_path: Path) -> None:
    found = find_rights(str(tmp_path), {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)})
    assert found.sandbox == ("danger-full-access" if found.trouble else "read-only")
