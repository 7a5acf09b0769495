"""Comments on a diff."""

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.dashboard.thread.comments import MOST, Comment, added, comment_of, message


def test_a_message_carries_each_comment_below_the_line_that_it_quotes() -> None:
    comments = [comment_of("src/a.py", "49", "  return x", "Say why. "), comment_of("b.py", "no", "", "Whole file.")]
    assert message(" Please:\n", comments) == "Please:\n\nsrc/a.py:49\n>   return x\nSay why.\n\nb.py\nWhole file."
    assert message("", comments[1:]) == "b.py\nWhole file."
    assert message(" ", []) == ""


def test_an_empty_comment_and_too_many_are_refused() -> None:
    with pytest.raises(Refused):
        added([], Comment("a", 1, "", " "))
    with pytest.raises(Refused):
        added([Comment("a", 1, "", "x")] * MOST, Comment("a", 1, "", "x"))
