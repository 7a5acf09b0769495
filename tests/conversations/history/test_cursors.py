import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.conversations.history import cursors
from codex_mcp.rpc.errors import RequestFailed

RECORDED = "2026-11-17T06:33:52.818Z|01a1e836-4393-7cd1-8f58-2e03b696054b"


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_a_cursor_is_read_as_it_was_written(core_cursor: str) -> None:
    assert cursors.read(cursors.written(core_cursor)) == core_cursor


@given(st.text(max_size=80))
def test_any_other_text_is_refused(text: str) -> None:
    with contextlib.suppress(RequestFailed):
        assert cursors.written(cursors.read(text)) == text


@pytest.mark.parametrize(
    "text", ["", "garbage", RECORDED, cursors.written(RECORDED) + "=", cursors.written(RECORDED)[:-2], "é"]
)
def test_what_this_server_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(RequestFailed, match="the cursor is not one of this server"):
        cursors.read(text)


def test_the_id_of_another_conversation_is_left_out() -> None:
    assert cursors.without_id(RECORDED) == "2026-11-17T06:33:52.818Z|ffffffff-ffff-ffff-ffff-ffffffffffff"
    assert cursors.without_id("of another form") == "of another form"
