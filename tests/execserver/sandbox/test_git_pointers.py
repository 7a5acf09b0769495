import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.sandbox.git_pointers import common_directory, git_directory


@pytest.mark.parametrize(
    ("content", "target"),
    [
        (b"gitdir: /abs\n", "/abs"),
        (b"gitdir: ../.git/modules/m\n", "/w/../.git/modules/m"),
        (b"gitdir:x", "/w/x"),
        (b"  gitdir:  with space \r\n", "/w/with space"),
        (b"gitdir: \xff", "/w/\udcff"),
        (b"gitdir:", None),
        (b"gitdir: a\0b", None),
        (b"gitdir: a\nb", None),
        (b"", None),
        (b"ref: refs/heads/main\n", None),
    ],
)
def test_a_git_file_leads_to_its_directory(content: bytes, target: str | None) -> None:
    assert git_directory(content, "/w") == target


def test_a_common_directory_counts_from_the_git_folder() -> None:
    assert common_directory(b"../..\n", "/r/.git/worktrees/w") == "/r/.git/worktrees/w/../.."
    assert common_directory(b"/r/.git", "/w") == "/r/.git"
    assert common_directory(b"\n", "/w") is None


@given(st.binary())
def test_any_content_is_a_path_or_nothing(content: bytes) -> None:
    for found in (git_directory(content, "/w"), common_directory(content, "/w")):
        assert found is None or (found.startswith("/") and "\0" not in found)
