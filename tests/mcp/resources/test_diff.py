"""The patches of a thread as a unified diff, which git applies."""

import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.mcp.resources.diff import CUT, diff, stat_of
from codex_mcp.wire.app.history import StoredThread, StoredTurn

UPDATE = "@@ -1,2 +1,2 @@\n one\n-two\n+deux\n"


def patches(*changes: tuple[str, dict[str, object], str], status: str = "completed") -> StoredTurn:
    items = [
        {"type": "fileChange", "id": "i", "status": status, "changes": [{"path": path, "kind": kind, "diff": text}]}
        for path, kind, text in changes
    ]
    return StoredTurn("u", "completed", [Raw(msgspec.json.encode(item)) for item in items])


def of(folder: Path | str, *turns: StoredTurn, is_cut: bool = False) -> str:
    return diff(StoredThread("t", cwd=str(folder)), turns, is_cut=is_cut)


def apply(folder: Path, text: str) -> None:
    subprocess.run(["git", "apply", "-"], input=text, text=True, cwd=folder, check=True)


def test_git_applies_the_patches_of_all_turns_in_order(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("gone\nsoon")
    (tmp_path / "move.txt").write_text("one\ntwo\n")
    at = str(tmp_path)
    text = of(
        tmp_path,
        patches((f"{at}/new.txt", {"type": "add"}, "one\ntwo\n"), (f"{at}/bare.txt", {"type": "add"}, "no end")),
        patches((f"{at}/new.txt", {"type": "update"}, UPDATE)),
        patches((f"{at}/old.txt", {"type": "delete"}, "gone\nsoon")),
        patches(
            (
                f"{at}/move.txt",
                {"type": "update", "move_path": f"{at}/moved.txt"},
                f"{UPDATE}\n\nMoved to: {at}/moved.txt",
            )
        ),
        patches((f"{at}/never.txt", {"type": "add"}, "x\n"), status="declined"),
    )
    apply(tmp_path, text)
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"new.txt": "one\ndeux\n", "bare.txt": "no end", "moved.txt": "one\ndeux\n"}


def test_a_file_elsewhere_has_no_leading_slash() -> None:
    assert "+++ b/other/a.txt\n" in of("/w", patches(("/other/a.txt", {"type": "add"}, "x\n")))


def test_what_is_left_out_is_said_in_a_line_that_git_skips(tmp_path: Path) -> None:
    text = of(tmp_path, patches((f"{tmp_path}/a", {"type": "add"}, "x\n")), is_cut=True)
    assert text.startswith(CUT)
    apply(tmp_path, text)
    assert (tmp_path / "a").read_text() == "x\n"


def test_a_thread_that_changed_nothing_has_an_empty_diff() -> None:
    assert of("/w", patches()) == ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("applied")


@given(st.text("ab\n +-\\@", min_size=1, max_size=20))
def test_any_content_is_added_as_it_is(folder: Path, content: str) -> None:
    (folder / "f").unlink(missing_ok=True)
    apply(folder, of(folder, patches((f"{folder}/f", {"type": "add"}, content))))
    assert (folder / "f").read_text() == content
    apply(folder, of(folder, patches((f"{folder}/f", {"type": "delete"}, content))))
    assert not (folder / "f").exists()


def test_a_stat_counts_the_lines_of_every_patch_of_a_file() -> None:
    text = of(
        "/w",
        patches(("/w/a", {"type": "add"}, "one\ntwo\n")),
        patches(("/w/a", {"type": "update"}, UPDATE), ("/w/b", {"type": "delete"}, "-- x\n")),
    )
    assert stat_of(text) == "a | +3 -1\nb | +0 -1\n"
    assert stat_of("") == ""
