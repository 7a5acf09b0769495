"""Which requests the pages serve."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.access.gate import Gate
from codex_mcp.base.errors import Refused
from codex_mcp.dashboard.guard import cookie, cookies, is_arrival, posted, query, rejection, wants_json

HOST = {"host": "127.0.0.1:7788"}
OURS = "http://127.0.0.1:7788"
OWN = {"sec-fetch-site": "same-origin"}


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, None),
        ("GET", {"sec-fetch-site": "none"}, None),
        ("GET", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", {"sec-fetch-site": "same-site"}, 403),
        ("GET", {"origin": "http://evil.example"}, 403),
        ("GET", {"host": "evil.example"}, 421),
        ("GET", {"host": "127.0.0.1:1, evil"}, 421),
        ("POST", {}, 403),
        ("POST", {"sec-fetch-site": "none"}, 403),
        ("POST", {"origin": OURS}, None),
        ("POST", OWN, None),
        ("POST", {**OWN, "origin": "null"}, None),
        ("POST", {**OWN, "origin": OURS}, None),
        ("POST", {"origin": "null"}, 403),
        ("POST", {"origin": "http://127.0.0.1:9999"}, 403),
        ("POST", {**OWN, "origin": "http://evil.example"}, 403),
        ("POST", {"sec-fetch-site": "cross-site", "origin": OURS}, 403),
        ("POST", {"sec-fetch-site": "cross-site", "origin": "null"}, 403),
        ("DELETE", {}, 403),
    ],
)
def test_only_our_own_pages_write(method: str, headers: dict[str, str], status: int | None) -> None:
    found = rejection(Gate(), method, HOST | headers)
    assert (None if found is None else found.status) == status


def test_a_link_on_another_site_arrives_without_anything_being_done() -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert is_arrival("GET", link)
    assert not is_arrival("POST", link)
    assert not is_arrival("GET", link | {"sec-fetch-dest": "iframe"})
    assert not is_arrival("GET", link | {"sec-fetch-mode": "cors"})
    assert not is_arrival("GET", link | {"sec-fetch-site": "none"})


def test_cookies_are_read_and_made() -> None:
    assert cookies({"cookie": "a=1; b=x=y;c; =z"}) == {"a": "1", "b": "x=y", "c": ""}
    assert cookies({}) == {}
    made = cookie("s", "1", secure=True)[1].decode()
    assert made == "s=1; Path=/ui; HttpOnly; SameSite=Strict; Secure"
    assert cookie("s", "")[1].endswith(b"Max-Age=0")


def test_forms_are_read_within_limits() -> None:
    assert posted(b"a=1&a=2&b=") == {"a": ["1", "2"], "b": [""]}
    for bad in (b"\xff", b"&".join(b"a=1" for _ in range(1001))):
        with pytest.raises(Refused):
            posted(bad)


@given(st.binary(max_size=100))
def test_no_query_breaks_a_page(text: bytes) -> None:
    assert isinstance(query(text), dict)


def test_programs_say_that_they_want_json() -> None:
    assert wants_json({"accept": "application/json"})
    assert not wants_json({"accept": "text/html,*/*"})
    assert not wants_json({})
