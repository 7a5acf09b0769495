"""Patches as numbered lines: nothing that is approved is left out."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.views.diffs import files_of
from tests.support.dashboard.facts import HARM


def test_lines_have_the_numbers_of_both_sides() -> None:
    diff = "@@ -10,3 +10,4 @@ def f\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n"
    (file,) = files_of({"/a.py": {"type": "update", "unified_diff": diff, "move_path": "/b\x07.py"}})
    assert (file.what, file.added, file.removed) == ("moved to /b\\u{7}.py", 2, 1)
    assert [(line.kind, line.old, line.new, line.text) for line in file.lines] == [
        ("hunk", None, None, "def f"),
        ("same", 10, 10, "a"),
        ("del", 11, None, "b"),
        ("add", None, 11, "c"),
        ("add", None, 12, "d"),
        ("same", 12, 13, "e"),
        ("hunk", None, None, "\\ No newline at end of file"),
    ]


def test_whole_files_are_added_or_removed() -> None:
    added, removed, odd = files_of(
        {"/a": {"type": "add", "content": f"1\n{HARM}\n"}, "/b": {"type": "delete", "content": "x"}, "/c": 3}
    )
    assert (added.what, added.added, removed.what, removed.removed) == ("new file", 2, "removed", 1)
    assert all(line.text.isprintable() for line in added.lines)
    assert (odd.what, list(odd.lines)) == ("cannot be shown", [])
    assert files_of(None) == []


lines_of_text = st.lists(st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"]), max_size=20))


@given(lines_of_text)
def test_every_line_of_a_diff_is_shown_once(texts: list[str]) -> None:
    diff = "".join(f"{'+- '[at % 3]}{text}\n" for at, text in enumerate(texts))
    (file,) = files_of({"/a": {"type": "update", "unified_diff": f"@@ -1 +1 @@\n{diff}"}})
    assert len(file.lines) == len(texts) + 1
    assert file.added + file.removed + sum(line.kind == "same" for line in file.lines) == len(texts)
