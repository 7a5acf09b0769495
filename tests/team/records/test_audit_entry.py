"""Lines of the audit."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.team.records.audit_entry import (
    LONGEST_TEXT,
    LOOKED_AT,
    AuditEntry,
    AuditOutcome,
    entry_in,
    line_of,
    shown,
    without_tails,
)

NOW = "2026-11-15T10:00:00.000Z"


def entry(**fields: object) -> AuditEntry:
    return msgspec.structs.replace(AuditEntry(timestamp=NOW, event="codex", outcome=AuditOutcome.OK), **fields)


def test_a_line_holds_what_applies() -> None:
    line = line_of(entry(identity="arch", duration_ms=7))
    expected = {"timestamp": NOW, "event": "codex", "outcome": "ok", "identity": "arch", "duration_ms": 7}
    assert json.loads(line) == expected
    assert line.endswith(b"\n")


def test_secrets_are_masked_wherever_they_are() -> None:
    key = "sk-abcdefgh12345678"
    line = line_of(entry(what=f"use {key}", error=f"Bearer {key}", request_id=key))
    assert key.encode() not in line


def test_a_secret_that_is_cut_in_two_is_masked_whole() -> None:
    key = "sk-" + "k" * 60
    assert "kk" not in shown("x" * (LONGEST_TEXT - 10) + " " + key)
    assert "kk" not in shown("Bearer " + "a" * (LOOKED_AT - 17) + " " + key)


def test_long_texts_are_cut_with_a_mark_and_short_ones_are_not() -> None:
    assert shown("y" * LONGEST_TEXT) == "y" * LONGEST_TEXT
    assert shown("y" * (LONGEST_TEXT + 1)) == "y" * (LONGEST_TEXT - 1) + "…"


@given(st.integers(LOOKED_AT - 2, LOOKED_AT + 9), st.integers(2, LOOKED_AT))
def test_without_its_tail_an_entry_has_the_same_line(length: int, word: int) -> None:
    text = "".join(" " if place % word == 0 else "a" for place in range(length))
    whole = entry(what=text, error=text)
    assert line_of(without_tails(whole)) == line_of(whole)
    assert len(without_tails(whole).what or "") <= LOOKED_AT + 1


@given(st.text(st.characters(codec=None), max_size=300), st.text(max_size=300))
def test_every_entry_is_one_line_that_is_read_back(what: str, name: str) -> None:
    line = line_of(entry(what=what, identity=name))
    assert line.count(b"\n") == 1
    read = entry_in(line)
    assert read is not None
    assert (read.timestamp, read.event, read.outcome) == (NOW, "codex", "ok")
    assert len(read.what or "") <= LONGEST_TEXT


@given(st.binary(max_size=100))
def test_what_is_no_entry_is_none(data: bytes) -> None:
    assert entry_in(data) is None


@pytest.mark.parametrize("line", [b"", b"[" * 100_000, b'{"timestamp":"x","event":"codex"', b'{"x":' + b"[" * 100_000])
def test_nor_is_something_torn_or_deep(line: bytes) -> None:
    assert entry_in(line) is None


def test_a_later_version_may_say_more() -> None:
    read = entry_in(b'{"timestamp":"t","event":"dance","outcome":"applause","mood":1}')
    assert read == AuditEntry(timestamp="t", event="dance", outcome="applause")
