"""A unified diff as files and lines."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.thread.unified import MOST_LINES, files_in, is_by_git

DIFF = """diff --git a/src/a.py b/src/a.py
index 1111111..2222222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -40,4 +40,5 @@ class A:
 def refund(self):
-    refund = Refund.new(order_id, amount)
-    return refund
+    refund = Refund.new(order_id, amount, key)
+    done()
+    return  refund
 end
diff --git a/new.lock b/new.lock
new file mode 100644
--- /dev/null
+++ b/new.lock
@@ -0,0 +1,2 @@
+-- one
+++ two
\\ No newline at end of file
diff --git a/b.png b/b.png
Binary files a/b.png and b/b.png differ
diff --git a/old b/moved
similarity index 100%
rename from old
rename to moved
"""


def test_lines_have_their_numbers_and_changed_words_are_marked() -> None:
    first, lock, picture, moved = files_in(DIFF)
    assert [(line.kind, line.old, line.new) for line in first.lines] == [
        ("hunk", None, None),
        ("same", 40, 40),
        ("del", 41, None),
        ("del", 42, None),
        ("add", None, 41),
        ("add", None, 42),
        ("add", None, 43),
        ("same", 43, 44),
    ]
    assert [text for text, is_marked in first.lines[4].parts if is_marked] == [", key"]
    assert (first.path, first.added, first.removed, first.is_folded) == ("src/a.py", 3, 2, False)
    assert (lock.what, lock.is_folded, [line.text for line in lock.lines][1:3]) == ("new", True, ["-- one", "++ two"])
    assert (picture.what, picture.is_folded, moved.what, moved.path) == ("binary", True, "moved from old", "moved")
    assert is_by_git(DIFF)
    assert not is_by_git(DIFF.partition("index ")[0])


def test_white_space_alone_is_no_change_if_it_is_to_be_ignored() -> None:
    diff = "diff --git a/a b/a\n@@ -1,2 +1,2 @@\n-if x:\n-  y\n+if x :\n+\ty\n"
    assert (files_in(diff)[0].added, files_in(diff, ignore_space=True)[0].added) == (2, 0)
    assert [(line.old, line.new) for line in files_in(diff, ignore_space=True)[0].lines[1:]] == [(1, 1), (2, 2)]


def test_a_page_has_so_many_lines_at_most() -> None:
    one = "diff --git a/a b/a\n@@ -1 +1 @@\n" + "+x\n" * 2000
    files = files_in(one * 3)
    assert sum(len(file.lines) for file in files) == MOST_LINES
    assert [bool(file.note) for file in files] == [False, True, True]


@given(st.text(alphabet="+-@ ab\\\n1,", max_size=300))
def test_any_text_is_read_and_nothing_is_invented(text: str) -> None:
    for file in files_in(f"diff --git a/x b/x\n@@ -1 +1 @@\n{text}"):
        assert all(line.text in text or line.kind == "hunk" for line in file.lines)
        added = sum(each.startswith("+") for each in text.split("\n"))
        assert file.added == added
