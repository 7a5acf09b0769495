"""The file of bearer tokens, line by line."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.tokens import parse_tokens

TOKEN = "a-token-that-is-long-enough"
DIGEST = hashlib.sha256(TOKEN.encode()).digest()


@pytest.mark.parametrize(
    "text",
    [
        f"alice {TOKEN}",
        f"  alice\t{TOKEN}  \n\n",
        f"# who may come in\nalice {TOKEN}\n   # nobody else\n",
        f"alice sha256:{DIGEST.hex()}",
        f"alice {TOKEN}\nalice sha256:{DIGEST.hex()}",
    ],
)
def test_a_token_belongs_to_the_principal_before_it(text: str) -> None:
    assert parse_tokens(text) == {DIGEST: "alice"}


def test_a_principal_may_have_several_tokens() -> None:
    tokens = parse_tokens(f"alice {TOKEN}\nalice {TOKEN}-new\nbob {TOKEN}-of-bob")
    assert sorted(tokens.values()) == ["alice", "alice", "bob"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it holds no token"),
        ("# only a comment", "it holds no token"),
        ("alice", "line 1 must be a principal's name and its token"),
        (f"alice {TOKEN} more", "line 1 must be"),
        (f"\nal/ice {TOKEN}", "line 2 must be"),
        ("alice short", "the token in line 1 is shorter than 16 characters"),
        ("alice sha256:abc", "line 1 must have 64 hexadecimal digits"),
        (f"alice sha256:{DIGEST.hex()}00", "line 1 must have 64 hexadecimal digits"),
        (f"alice {TOKEN}\nbob {TOKEN}", "line 2 gives bob the token of somebody else"),
    ],
)
def test_what_is_wrong_is_named_by_its_line_and_never_quotes_the_token(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        parse_tokens(text)
    assert TOKEN not in str(refused.value)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        tokens = parse_tokens(text)
    except ValueError:
        return
    assert all(len(digest) == len(DIGEST) for digest in tokens)
