"""The prompts of a folder, with good, broken, large and linked files in it."""

import os
from pathlib import Path

import pytest

from codex_mcp.mcp.prompts import folders
from codex_mcp.mcp.prompts.folders import mark_of, prompts_in


def names(folder: Path) -> list[str]:
    return [prompt.name for prompt in prompts_in(str(folder))]


def test_a_folder_that_does_not_exist_has_no_prompts(tmp_path: Path) -> None:
    assert names(tmp_path / "gone") == []
    assert mark_of(str(tmp_path / "gone")) == ()


def test_only_markdown_files_with_a_name_are_prompts(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "c.txt", ".md", ".hidden.md", "x\ny.md", f"{'n' * 129}.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    assert names(tmp_path) == ["a", "b"]


def test_a_broken_file_hides_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "bytes.md").write_bytes(b"\xff")
    (tmp_path / "long.md").write_text("x" * (folders.MAX_BYTES + 1))
    (tmp_path / "good.md").write_text("x" * folders.MAX_BYTES)
    assert names(tmp_path) == ["good"]
    assert len(caplog.messages) == 2
    assert any("bytes.md: it is not in UTF-8" in message for message in caplog.messages)


def test_links_out_of_the_folder_are_ignored(tmp_path: Path) -> None:
    inside, outside = tmp_path / "prompts", tmp_path / "secret.md"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "own.md").write_text("own")
    (inside / "alias.md").symlink_to(inside / "own.md")
    (inside / "stolen.md").symlink_to(outside)
    (inside / "up.md").symlink_to("../secret.md")
    (inside / "dangling.md").symlink_to(inside / "gone.md")
    assert names(inside) == ["alias", "own"]


def test_a_folder_shows_a_bounded_number_of_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_FILES", 2)
    for name in "cab":
        (tmp_path / f"{name}.md").write_text(name)
    assert names(tmp_path) == ["a", "b"]


def test_a_folder_shows_a_bounded_number_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_FOLDER_BYTES", 5)
    for name, text in {"a": "123", "b": "456", "c": "78"}.items():
        (tmp_path / f"{name}.md").write_text(text)
    assert names(tmp_path) == ["a", "c"]


def test_the_mark_changes_with_every_file(tmp_path: Path) -> None:
    marks = [mark_of(str(tmp_path))]
    file = tmp_path / "a.md"
    file.write_text("one")
    marks.append(mark_of(str(tmp_path)))
    file.write_text("other")
    marks.append(mark_of(str(tmp_path)))
    file.rename(tmp_path / "b.md")
    marks.append(mark_of(str(tmp_path)))
    assert len(set(marks)) == 4
    assert mark_of(str(tmp_path)) == marks[-1]
