import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.redact import MASK, redact

TOKEN_CHARACTERS = string.ascii_letters + string.digits + "._~+/=-"
tokens = st.text(TOKEN_CHARACTERS, min_size=12, max_size=80)
harmless = st.text(string.ascii_lowercase + " .,(){}<>#", max_size=60).filter(
    lambda text: (
        not any(word in text for word in ("bearer", "authorization", "key", "secret", "passw", "token", "credential"))
    )
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.def", "Authorization: Bearer ****"),
        ("authorization: bearer abc", "authorization: bearer ****"),
        ("BEARER abc and more", "BEARER **** and more"),
        ('{"Authorization":"Bearer abc"}', '{"Authorization":"Bearer ****"}'),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ****"),
        ("key sk-proj-abcdefgh12 used", "key sk-**** used"),
        ("OPENAI_API_KEY=abc123 codex", "OPENAI_API_KEY=**** codex"),
        ('{"apiKey":"abc","model":"m"}', '{"apiKey":"****","model":"m"}'),
        (r'{"text":"{\"apiKey\":\"abc\"}"}', r'{"text":"{\"apiKey\":\"****\"}"}'),
        ("api_key = 'a b c'", "api_key = '****'"),
        ('"apiKey": "cut in the mid', '"apiKey": "****"'),
        ("access_token=abc&next=1", "access_token=****&next=1"),
        ("password: hunter2", "password: ****"),
        ('"env": {"NPM_TOKEN": "abc"}', '"env": {"NPM_TOKEN": "****"}'),
        ("x-gitlab-token: abc", "x-gitlab-token: ****"),
        ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig_x end", "got **** end"),
        ("push with ghp_0123456789abcdefghij", "push with ****"),
        ("proxy http://me:pw@host:8080/", "proxy http://me:****@host:8080/"),
        ("used 120 tokens, total_tokens=120", "used 120 tokens, total_tokens=120"),
        ("progressToken=7 thread=0192", "progressToken=7 thread=0192"),
        ("task-risk sk-1 keyboard: qwerty", "task-risk sk-1 keyboard: qwerty"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_what_is_masked_and_what_is_not(text: str, expected: str) -> None:
    assert redact(text) == expected


@given(harmless, st.sampled_from(["Bearer ", "bearer ", "BEARER  ", "bEaReR\t"]), tokens, harmless)
def test_no_bearer_token_survives(before: str, scheme: str, token: str, after: str) -> None:
    masked = redact(f"{before} {scheme}QQ{token}QQ {after}")
    assert "QQ" not in masked
    assert f"{scheme}{MASK}" in masked


@given(
    st.sampled_from(
        [
            "api_key",
            "apiKey",
            "OPENAI_API_KEY",
            "access_token",
            "refresh-token",
            "client_secret",
            "password",
            "NPM_TOKEN",
        ]
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8, max_size=40),
    st.integers(min_value=0, max_value=3),
)
def test_no_named_secret_survives_in_json_however_often_it_is_quoted(name: str, secret: str, depth: int) -> None:
    secret = f"qqq{secret}qqq"
    text = json.dumps({name: secret, "other": 1}, ensure_ascii=False)
    for _ in range(depth):
        text = json.dumps(text, ensure_ascii=False)
    assert "qqq" not in redact(text)


@given(tokens.map(lambda token: f"sk-{token.replace('.', 'x').replace('~', 'y')}"))
def test_no_api_key_survives(key: str) -> None:
    letters = "".join(c if c.isalnum() or c in "-_" else "z" for c in key)
    assert letters not in redact(f"failed with {letters}!")


@given(harmless)
def test_other_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)
