"""Of what a program wrote to stderr, the line is quoted that says why it ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.process import MAX_QUOTED_CHARACTERS, last_words, reason_in

BACKTRACE = (
    "\nStack backtrace:\n   0: <unknown>\n   1: std::panicking\n       at /rustc/x/lib.rs:5:1\n   6: <unknown>\n"
)
LOGGED = "\x1b[2m2026-11-15T20:12:09Z\x1b[0m \x1b[31mERROR\x1b[0m no bubblewrap on PATH\n"
PANIC = "thread 'main' panicked at core/src/lib.rs:7:9:\nindex out of bounds\n"
NOTE = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"


@pytest.mark.parametrize(
    ("stderr", "named", "quoted"),
    [
        ("", "", ""),
        ("first\nno licence\n", "", "no licence"),
        (f"{LOGGED}Error: no such home\n{BACKTRACE}", "Error: no such home", "Error: no such home"),
        (f"\x1b[31mError: red\x1b[0m\n{BACKTRACE}", "Error: red", "Error: red"),
        (f"Error: first\nError: second\n{BACKTRACE}", "Error: second", "Error: second"),
        (LOGGED, "", "2026-11-15T20:12:09Z ERROR no bubblewrap on PATH"),
        (f"starting\n{BACKTRACE}", "", "starting"),
        (
            f"{LOGGED}{PANIC}{NOTE}{BACKTRACE}",
            "thread 'main' panicked at core/src/lib.rs:7:9: index out of bounds",
            "thread 'main' panicked at core/src/lib.rs:7:9: index out of bounds",
        ),
        (
            f"thread 'tokio-runtime-worker' (77) panicked at 'no', src/a.rs:1:2\n{NOTE}",
            "thread 'tokio-runtime-worker' (77) panicked at 'no', src/a.rs:1:2",
            "thread 'tokio-runtime-worker' (77) panicked at 'no', src/a.rs:1:2",
        ),
        (BACKTRACE, "", ""),
    ],
)
def test_the_line_that_names_the_error_is_found(stderr: str, named: str, quoted: str) -> None:
    assert (reason_in(stderr), last_words(stderr)) == (named, quoted)


@given(st.text())
def test_whatever_was_written_one_short_line_is_quoted(stderr: str) -> None:
    quoted = last_words(stderr)
    assert len(quoted) <= MAX_QUOTED_CHARACTERS
    assert len(quoted.splitlines()) <= 1
