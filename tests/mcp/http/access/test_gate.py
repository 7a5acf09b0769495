"""Every rule of the gate."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.http.access.gate import Admitted, Gate, Rejected, admitted

NOBODY = "local"
OPEN = Gate()
LOCKED = Gate(tokens={hashlib.sha256(token).digest(): name for token, name in [(b"one", "ada"), (b"two", "bob")]})
HOST = {"host": "127.0.0.1:3333"}


def status(gate: Gate, headers: dict[str, str]) -> int:
    verdict = admitted(gate, headers, NOBODY)
    return verdict.status if isinstance(verdict, Rejected) else 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:3333", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:3333", "LOCALHOST:80"]
)
def test_who_calls_us_by_a_name_of_this_machine_comes_in(host: str) -> None:
    assert admitted(OPEN, {"host": host}, NOBODY) == Admitted(NOBODY)


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
    assert admitted(LOCKED, HOST | {"authorization": header}, NOBODY) == Admitted("ada")


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
    verdict = admitted(LOCKED, HOST | {"authorization": "Bearer three"}, NOBODY)
    assert isinstance(verdict, Rejected)
    assert "ada" not in verdict.why
    assert "three" not in verdict.why
