"""The file of tokens: who is in it comes in, and what is wrong in it is told by its line, never by its token."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.http.access.tokens import MIN_TOKEN_CHARS, PRINCIPAL, parse_tokens

ONE, TWO = "a" * MIN_TOKEN_CHARS, "b" * MIN_TOKEN_CHARS
HASHED = f"sha256:{hashlib.sha256(TWO.encode()).hexdigest()}"


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def test_each_line_is_a_principal_and_its_token_plain_or_hashed() -> None:
    text = f"# who may come in\n\nalice {ONE}\n  bob\t{HASHED}  \n"
    assert parse_tokens(text) == {digest(ONE): "alice", digest(TWO): "bob"}


def test_a_principal_may_have_several_tokens() -> None:
    assert parse_tokens(f"alice {ONE}\nalice {TWO}\nalice {ONE}") == {digest(ONE): "alice", digest(TWO): "alice"}


def test_a_token_may_hold_any_sign_a_hash_sign_too() -> None:
    token = "#sign#and=more+/" + ONE
    assert parse_tokens(f"alice {token}") == {digest(token): "alice"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it holds no token"),
        ("# nobody\n\n", "it holds no token"),
        (f"alice {ONE}\nbob", "line 2 must be a principal's name and its token"),
        (f"alice {ONE} more", "line 1 must be a principal's name and its token"),
        (f"-alice {ONE}", "line 1 must be a principal's name and its token"),
        (f"local {ONE}", "line 1 must not name local: that is who needs no token"),
        (f"{'x' * 65} {ONE}", "line 1 must be a principal's name and its token"),
        (f"alice {ONE[1:]}", f"the token in line 1 is shorter than {MIN_TOKEN_CHARS} characters"),
        ("alice sha256:abc", "line 1 must have 64 hexadecimal digits behind sha256:"),
        (f"alice sha256:{'g' * 64}", "line 1 must have 64 hexadecimal digits behind sha256:"),
        (f"alice {ONE}\nbob {ONE}", "line 2 gives bob the token of somebody else"),
        (f"alice {TWO}\nbob {HASHED}", "line 2 gives bob the token of somebody else"),
    ],
)
def test_what_cannot_be_meant_is_told_by_its_line(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        parse_tokens(text)


@given(st.text())
def test_whatever_the_file_holds_it_is_tokens_or_a_sentence(text: str) -> None:
    try:
        tokens = parse_tokens(text)
    except ValueError as exc:
        assert "line" in str(exc) or str(exc) == "it holds no token"  # noqa: PT017  either is fine
    else:
        assert all(PRINCIPAL.fullmatch(principal) and len(key) == 32 for key, principal in tokens.items())
