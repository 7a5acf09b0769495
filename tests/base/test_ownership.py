"""What a user is told about files of another user."""

import os
from pathlib import Path

from codex_mcp.base.ownership import chown_advice


def test_the_outermost_folder_of_another_user_is_named(tmp_path: Path) -> None:
    file = tmp_path / "my codex/log/file"
    file.parent.mkdir(parents=True)
    other = os.geteuid() + 54321  # nobody has this number
    assert chown_advice(str(file), str(tmp_path), other) == f"sudo chown -R {other} '{tmp_path}/my codex'"


def test_nothing_is_said_about_one_s_own_files_or_about_other_places(tmp_path: Path) -> None:
    assert chown_advice(str(tmp_path / "a/b"), str(tmp_path)) == ""
    assert chown_advice("/etc/passwd", str(tmp_path), 54321) == ""
