"""The lines of a file with rows."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.state.rows import (
    TABLES,
    NameRow,
    NotAState,
    RecordRow,
    Row,
    StreamRow,
    header,
    last_line,
    line_of,
    rows_in,
)

ROWS: Sequence[Row] = [RecordRow("k", "x", b"\x00\xff"), StreamRow("t", "s", 1, 2)]


def lines_of(rows: Sequence[Row]) -> list[bytes]:
    return [header(), *map(line_of, rows), last_line(len(rows))]


times = st.floats(allow_nan=False, allow_infinity=False)
names = st.builds(NameRow, since=times, released=st.none() | times)
others = (st.from_type(kind) for kind, _, _ in TABLES if kind is not NameRow)


@given(rows=st.lists(st.one_of(names, *others)))
def test_what_was_written_is_read(rows: list[Row]) -> None:
    assert list(rows_in(lines_of(rows))) == rows


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "its end is missing"),
        ([header()], "its end is missing"),
        (lines_of(ROWS)[:-1], "its end is missing"),
        ([*lines_of(ROWS)[:-1], last_line(3)], "it says that it has 3 rows, but it has 2"),
        ([*lines_of(ROWS), line_of(ROWS[0])], "there is more after its end, in line 5"),
        ([header(), b"{}\n", last_line(1)], "line 2 is damaged"),
        ([header(), b'{"type": "else"}\n', last_line(1)], "line 2 is damaged"),
        ([b"name,age\n"], "not a file that `codex-mcp state export` has written"),
        (lines_of(ROWS)[1:], "not a file that `codex-mcp state export` has written"),
        ([b'{"codex_mcp_state": 2}\n'], "codex-mcp update"),
    ],
)
def test_a_file_that_is_cut_or_something_else_is_refused(lines: list[bytes], why: str) -> None:
    with pytest.raises(NotAState, match=why):
        list(rows_in(lines))
