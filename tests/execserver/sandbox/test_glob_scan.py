from pathlib import Path

import pytest

from codex_mcp.execserver.sandbox.glob_scan import MAX_MATCHES, MAX_SCANNED, matches
from codex_mcp.execserver.sandbox.policy import CannotEnforce, HiddenPattern


def found(folder: Path, pattern: str, depth: int | None = None) -> list[str]:
    hidden = HiddenPattern(str(folder), pattern, depth)
    return sorted(str(Path(path).relative_to(folder)) for path in matches(hidden))


def furnished(folder: Path) -> Path:
    for name in ("a.env", "sub/b.env", "sub/deep/c.env", "sub/plain", "folder.env/x.env"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "link").symlink_to("sub")
    (folder / "link.env").symlink_to("sub/plain")
    return folder


def test_what_matches_is_found_but_not_through_links_nor_inside_of_what_is_hidden(tmp_path: Path) -> None:
    furnished(tmp_path)
    everywhere = ["a.env", "folder.env", "link.env", "sub/b.env", "sub/deep/c.env"]
    assert found(tmp_path, "**/*.env") == everywhere
    assert found(tmp_path, "sub/*.env") == ["sub/b.env", "sub/deep/c.env"]
    assert found(tmp_path, "**/*.env", depth=2) == [path for path in everywhere if path.count("/") < 2]
    assert found(tmp_path, "none/*") == []
    assert matches(HiddenPattern("/", str(tmp_path / "sub/b.*").lstrip("/"))) == [str(tmp_path / "sub/b.env")]


def test_a_folder_whose_name_looks_like_a_pattern_is_only_itself(tmp_path: Path) -> None:
    for name in ("[ab]", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.env").touch()
    assert found(tmp_path / "[ab]", "*.env") == ["x.env"]


def test_too_many_matches_are_refused(tmp_path: Path) -> None:
    for number in range(MAX_MATCHES + 1):
        (tmp_path / f"{number}.env").touch()
    with pytest.raises(CannotEnforce, match="matches too many"):
        found(tmp_path, "*.env")


def test_a_search_that_would_take_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_SCANNED > 10
    monkeypatch.setattr("codex_mcp.execserver.sandbox.glob_scan.MAX_SCANNED", 10)
    for number in range(11):
        (tmp_path / f"{number}").touch()
    with pytest.raises(CannotEnforce, match="too many files"):
        found(tmp_path, "*.env")
