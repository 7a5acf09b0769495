"""Heads of Markdown files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.team.profile.front_matter import Value, split


def values(*lines: str) -> dict[str, Value]:
    return split("\n".join(["---", *lines, "---", "body"]))[0]


@pytest.mark.parametrize("text", ["", "body", "body\n---\nname: x\n---\n", " ---\nx", "----\nx"])
def test_a_text_without_a_head_is_all_body(text: str) -> None:
    assert split(text) == ({}, text)


def test_the_body_is_what_follows_also_with_rules_in_it() -> None:
    assert split("---\nname: x\n---\n\n# Title\n\n---\n\nmore\n") == ({"name": "x"}, "\n# Title\n\n---\n\nmore\n")
    assert split("\ufeff---\r\nname: x\r\n---\r\nbody\r\n") == ({"name": "x"}, "body\r\n")
    assert split("---\n---\n") == ({}, "")


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["k: plain text"], "plain text"),
        (["k:"], ""),
        (["k: Use this when: always. Example: a: b"], "Use this when: always. Example: a: b"),
        (["k: text # comment"], "text"),
        (["k: C# and a#b"], "C# and a#b"),
        (["k: 'it''s' # comment"], "it's"),
        ([r'k: "a \"b\" \n é \u00e9"'], 'a "b" \n é é'),
        ([r'k: "yaml \x41 only"'], r"yaml \x41 only"),
        (["k: first", "  second", "", "  third"], "first second third"),
        (["k: [Read, 'Grep', \"a, b\"]"], ("Read", "Grep", "a, b")),
        (["k: [Read,", "  Grep ]"], ("Read", "Grep")),
        (["k: []"], ()),
        (["k: [a # b, c] # comment"], ("a # b", "c")),
        ([r'k: "half \ud800 of a pair"'], "half ? of a pair"),
        (["k:", "  - Read", "  # no", "  - 'Grep'", "  -"], ("Read", "Grep", "")),
        (["k:", "- Read", "- Grep # yes"], ("Read", "Grep")),
        (["k: |", "  one", "    two", "", "  three"], "one\n  two\n\nthree"),
        (["k: >-", "  one", "  two", "", "  three"], "one two\nthree"),
        (["k:", "  nested:", "    deeper: x"], ""),
    ],
)
def test_the_kinds_of_values(lines: list[str], value: Value) -> None:
    assert values("# a comment", "", *lines, "other: 1") == {"k": value, "other": "1"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("---\nname: x\n", "no --- at its end"),
        ("---", "no --- at its end"),
        ("---\nname: x\nnonsense\n---\n", "line 3 of its head is not `key: value`"),
        ("---\n  name: x\n---\n", "line 2 of its head is not `key: value`"),
        ("---\nname:x\n---\n", "line 2 of its head is not `key: value`"),
        ("---\na: 1\na: 2\n---\n", "line 3 of its head has a a second time"),
        ('---\na: "open\n---\n', "line 2 of its head: a quote is not closed"),
        ("---\na: 'b' c\n---\n", "something follows it"),
        ("---\na: [b, c\n---\n", "a list is not closed"),
        ("---\na: [b, [c]]\n---\n", "neither a plain nor a quoted text"),
    ],
)
def test_what_is_broken_is_said_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        split(text)


@given(st.text(st.sampled_from("ab:-#'\"[]|>,\\ \t\n{}é"), max_size=60))
def test_no_head_raises_anything_but_a_value_error(head: str) -> None:
    try:
        found, body = split(f"---\n{head}\n---\nbody")
    except ValueError:
        return
    assert body.endswith("body")
    assert all(isinstance(value, str | tuple) for value in found.values())


@given(st.dictionaries(st.from_regex("[a-z][a-z_-]{0,8}", fullmatch=True), st.one_of(st.text(), st.lists(st.text()))))
def test_what_is_written_in_json_is_read(written: dict[str, str | list[str]]) -> None:
    """JSON is YAML: quoted texts and lists of them come back as they were."""
    head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in written.items())
    expected = {key: tuple(value) if isinstance(value, list) else value for key, value in written.items()}
    assert split(f"---\n{head}---\nbody") == (expected, "body")


@pytest.mark.parametrize("head", ["k: a{}b", "k: [a{}[", "k: 'a'{}b", "k{}", "k: [{}", "k: |{}x", "k: >\n {}x"])
def test_a_long_row_of_spaces_takes_no_longer_than_other_text(head: str) -> None:
    """A quarter of a mebibyte of them would take hours, if a pattern went over it once for each."""
    try:
        split(f"---\n{head.format(' ' * 250_000)}\n---\nbody")
    except ValueError:
        return
