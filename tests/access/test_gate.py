"""Every rule of the gate: names, pages and tokens, the token file, and the warning for a server without tokens."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.access.gate import (
    MIN_TOKEN_CHARS,
    NO_TOKEN,
    PRINCIPAL,
    Admitted,
    Gate,
    Rejected,
    administrators,
    bearer_token,
    parse_tokens,
    people,
    warning_without_tokens,
)

NOBODY = "local"
OPEN = Gate()
LOCKED = Gate(tokens={hashlib.sha256(token).digest(): name for token, name in [(b"one", "ada"), (b"two", "bob")]})
HOST = {"host": "127.0.0.1:3333"}
ONE, TWO = "a" * MIN_TOKEN_CHARS, "b" * MIN_TOKEN_CHARS
HASHED = f"sha256:{hashlib.sha256(TWO.encode()).hexdigest()}"
PASSWD = """root:x:0:0:root:/home/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
ada:x:1000:1000:Ada,,,:/home/ada:/bin/bash
service:x:1001:1001::/home/service:/bin/false
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
broken
"""


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def verdict_on(gate: Gate, headers: dict[str, str]) -> Admitted | Rejected:
    rejected = gate.rejection(headers)
    if rejected is not None:
        return rejected
    if not gate.tokens:
        return Admitted(NOBODY)
    token = bearer_token(headers)
    return NO_TOKEN if token is None else gate.principal(digest(token))


def status(gate: Gate, headers: dict[str, str]) -> int:
    verdict = verdict_on(gate, headers)
    return verdict.status if isinstance(verdict, Rejected) else 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:3333", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:3333", "LOCALHOST:80"]
)
def test_who_calls_us_by_a_name_of_this_machine_comes_in(host: str) -> None:
    assert verdict_on(OPEN, {"host": host}) == Admitted(NOBODY)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:3333",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "[::2]",
        "[::1]x",
        "localhost:x",
        "localhost, evil.example",
        "127.0.0.1:80, evil.example",
    ],
)
def test_who_calls_us_by_another_name_does_not(host: str) -> None:
    assert status(OPEN, {"host": host}) == 421


def test_nor_does_one_without_any_name() -> None:
    assert status(OPEN, {}) == 421


def test_a_name_that_we_were_given_is_ours() -> None:
    gate = Gate(hosts=frozenset({"agents.example", "fd00::7"}))
    assert status(gate, {"host": "agents.example:443"}) == 200
    assert status(gate, {"host": "[fd00::7]:443"}) == 200
    assert status(gate, HOST) == 421


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:3333", "http://127.0.0.1:3333"),
        ("LOCALHOST:3333", "http://localhost:3333"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("localhost", "http://localhost:80"),
        ("localhost", "https://localhost"),
        ("localhost:443", "https://localhost"),
        ("[::1]:3333", "http://[::1]:3333"),
    ],
)
@pytest.mark.parametrize("site", [{}, {"sec-fetch-site": "same-origin"}])
def test_pages_of_this_server_itself_may_call(host: str, origin: str, site: dict[str, str]) -> None:
    assert status(OPEN, {"host": host, "origin": origin} | site) == 200


@pytest.mark.parametrize(
    "origin",
    ["http://localhost", "http://localhost:8080", "https://127.0.0.1:1", "http://[::1]", "http://127.0.0.1:33333"],
)
def test_pages_of_other_ports_of_this_machine_may_not_unless_they_are_on_the_list(origin: str) -> None:
    assert status(OPEN, HOST | {"origin": origin}) == 403
    assert status(Gate(origins=frozenset({origin})), HOST | {"origin": origin}) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "anything"])
def test_a_browser_that_works_for_another_site_is_refused_with_and_without_an_origin(site: str) -> None:
    listed = Gate(origins=frozenset({"https://app.example"}))
    assert status(OPEN, HOST | {"sec-fetch-site": site}) == 403
    assert status(listed, HOST | {"sec-fetch-site": site}) == 403
    assert status(OPEN, HOST | {"sec-fetch-site": site, "origin": "http://127.0.0.1:3333"}) == 403
    assert status(listed, HOST | {"sec-fetch-site": site, "origin": "https://app.example"}) == 200


@pytest.mark.parametrize("site", ["none", "same-origin"])
def test_a_person_at_the_address_bar_may_come_in(site: str) -> None:
    assert status(OPEN, HOST | {"sec-fetch-site": site}) == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://localhost.evil.example",
        "http://127.0.0.1@evil.example",
        "x",
        "http://[",
    ],
)
def test_pages_of_others_may_not(origin: str) -> None:
    assert status(OPEN, HOST | {"origin": origin}) == 403


def test_pages_on_the_list_may_as_they_are_written_there() -> None:
    gate = Gate(origins=frozenset({"https://app.example"}))
    assert status(gate, HOST | {"origin": "https://app.example"}) == 200
    assert status(gate, HOST | {"origin": "https://app.example:444"}) == 403
    assert status(gate, HOST | {"origin": "http://app.example"}) == 403


@given(st.text())
def test_whatever_an_origin_is_there_is_a_verdict(origin: str) -> None:
    assert status(OPEN, HOST | {"origin": origin}) in {200, 403}


@pytest.mark.parametrize("header", ["Bearer one", "bearer one", "BEARER  one", "Bearer one "])
def test_a_token_tells_the_principal(header: str) -> None:
    assert verdict_on(LOCKED, HOST | {"authorization": header}) == Admitted("ada")


@pytest.mark.parametrize(
    "header", ["", "one", "Bearer", "Bearer ", "Basic one", "Bearer three", "Bearer on", "Bearer ONE"]
)
def test_nobody_comes_in_without_one(header: str) -> None:
    assert status(LOCKED, HOST | {"authorization": header}) == 401


def test_nor_without_the_header() -> None:
    assert status(LOCKED, HOST) == 401


def test_a_token_does_not_open_to_the_wrong_name_or_page() -> None:
    token = {"authorization": "Bearer one"}
    assert status(LOCKED, token | {"host": "evil.example"}) == 421
    assert status(LOCKED, token | HOST | {"origin": "https://evil.example"}) == 403


@given(st.text(min_size=1))
def test_where_no_tokens_are_needed_any_will_do(token: str) -> None:
    assert status(OPEN, HOST | {"authorization": f"Bearer {token}"}) == 200


@given(st.text(st.characters(max_codepoint=255)))
def test_any_other_token_is_unknown(token: str) -> None:
    if token.strip() not in {"one", "two"}:
        assert status(LOCKED, HOST | {"authorization": f"Bearer {token}"}) == 401


def test_a_rejection_says_nothing_about_others() -> None:
    verdict = verdict_on(LOCKED, HOST | {"authorization": "Bearer three"})
    assert isinstance(verdict, Rejected)
    assert "ada" not in verdict.why
    assert "three" not in verdict.why


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
        ("", "it contains no token"),
        ("# nobody\n\n", "it contains no token"),
        (f"alice {ONE}\nbob", "line 2 must be a principal's name and its token, and may end with admin"),
        (f"alice {ONE} more", "line 1 must be a principal's name and its token, and may end with admin"),
        (f"-alice {ONE}", "line 1 must be a principal's name and its token, and may end with admin"),
        (f"local {ONE}", "line 1 must not name local, which is the principal of clients without a token"),
        (f"{'x' * 65} {ONE}", "line 1 must be a principal's name and its token, and may end with admin"),
        (f"alice {ONE[1:]}", f"the token in line 1 is shorter than {MIN_TOKEN_CHARS} characters"),
        ("alice sha256:abc", "line 1 must have 64 hexadecimal digits after sha256:"),
        (f"alice sha256:{'g' * 64}", "line 1 must have 64 hexadecimal digits after sha256:"),
        (f"alice {ONE}\nbob {ONE}", "line 2 gives bob a token that another principal has"),
        (f"alice {TWO}\nbob {HASHED}", "line 2 gives bob a token that another principal has"),
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
        assert "line" in str(exc) or str(exc) == "it contains no token"  # noqa: PT017  either is fine
    else:
        assert all(PRINCIPAL.fullmatch(principal) and len(key) == 32 for key, principal in tokens.items())


def test_people_are_accounts_that_can_log_in() -> None:
    assert people(PASSWD) == {1000: "ada"}


def test_root_is_warned_in_any_case_and_others_of_other_people() -> None:
    assert "can run commands as root" in warning_without_tokens(0, "")
    assert warning_without_tokens(1000, PASSWD) == ""
    assert "other users of this machine (ada) can run commands as you" in warning_without_tokens(1002, PASSWD)
    assert "--generate-token" in warning_without_tokens(1002, PASSWD)
    many = "".join(f"u{number}:x:{number}:1::/h:/bin/sh\n" for number in range(1000, 1005))
    assert "(u1001, u1002, u1003, …)" in warning_without_tokens(1000, many)


def test_a_principal_administers_if_all_its_lines_say_so() -> None:
    lines = [f"# {ONE} admin", f"alice {ONE} admin", f"bob {TWO}", f"dora {'e' * 16} admin"]
    text = "\n".join([*lines, f"carol {'c' * 16} admin", f"carol {'d' * 16}"])
    assert administrators(text) == {"alice", "dora"}
    assert set(parse_tokens(text).values()) == {"alice", "bob", "carol", "dora"}
