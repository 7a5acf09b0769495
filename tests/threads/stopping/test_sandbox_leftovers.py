"""Empty folders that a killed sandbox leaves in the workspace."""

from pathlib import Path

from codex_mcp.threads.stopping.sandbox_leftovers import MOUNT_POINTS, SandboxLeftovers


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_a_killed_command_left_is_removed(tmp_path: Path) -> None:
    leftovers = SandboxLeftovers(str(tmp_path))
    leftovers.look()
    for name in MOUNT_POINTS:
        (tmp_path / name).mkdir()
    leftovers.clean()
    assert names(tmp_path) == set()


def test_what_was_there_before_stays(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".aws").symlink_to("nowhere")
    leftovers = SandboxLeftovers(str(tmp_path))
    leftovers.look()
    (tmp_path / ".codex").mkdir()
    leftovers.clean()
    assert names(tmp_path) == {".git", ".aws"}


def test_what_is_not_empty_or_no_folder_stays(tmp_path: Path) -> None:
    leftovers = SandboxLeftovers(str(tmp_path))
    leftovers.look()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").touch()
    (tmp_path / ".codex").touch()
    (tmp_path / "other").mkdir()
    leftovers.clean()
    assert names(tmp_path) == {".git", ".codex", "other"}


def test_who_has_not_looked_removes_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    SandboxLeftovers(str(tmp_path)).clean()
    assert names(tmp_path) == {".git"}


def test_a_workspace_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    leftovers = SandboxLeftovers(str(tmp_path / "gone"))
    leftovers.look()
    leftovers.clean()
