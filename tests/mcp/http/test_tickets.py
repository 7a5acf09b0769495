"""A session id names its owner, expires, and cannot be forged."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.access.seal import KEY_BYTES, seal
from codex_mcp.mcp.http import tickets
from codex_mcp.mcp.http.tickets import SessionTicket

KEY = bytes(range(KEY_BYTES))
LIFETIME = 100.0
ISSUED = 1000.0

TICKET = SessionTicket("serial", "ada", ISSUED, "client", "1.2", {"form": {}})
WRITTEN = tickets.written(KEY, TICKET)


def read(session_id: str, principal: str = "ada", now: float = ISSUED) -> SessionTicket | None:
    return tickets.read(KEY, session_id, principal=principal, now=now, lifetime=LIFETIME)


@given(st.builds(SessionTicket, st.text(), st.just("ada"), st.just(ISSUED), st.text(), st.text()))
def test_it_is_read_as_it_was_written(ticket: SessionTicket) -> None:
    assert read(tickets.written(KEY, ticket)) == ticket


@pytest.mark.parametrize(
    ("now", "valid"),
    [
        (ISSUED, True),
        (ISSUED + LIFETIME, True),
        (ISSUED + LIFETIME + 0.1, False),
        (ISSUED - tickets.SKEW, True),
        (ISSUED - tickets.SKEW - 0.1, False),
    ],
)
def test_it_is_valid_to_the_end_of_its_lifetime_and_a_while_before_its_issue(now: float, *, valid: bool) -> None:
    assert read(WRITTEN, now=now) == (TICKET if valid else None)


@pytest.mark.parametrize("principal", ["bob", "", "Ada", "ada "])
def test_it_is_worth_nothing_to_anybody_else(principal: str) -> None:
    assert read(WRITTEN, principal) is None


def test_what_we_did_not_write_is_no_ticket() -> None:
    assert read("my-own-id") is None
    assert read(WRITTEN + "x") is None
    assert tickets.read(bytes(KEY_BYTES), WRITTEN, principal="ada", now=ISSUED, lifetime=LIFETIME) is None
    assert read(seal(KEY, "input required", TICKET)) is None


@pytest.mark.parametrize("principal", ["repo:octo/octo:ref:refs/heads/" + "x" * 900, "Zoë " * 200])
def test_one_of_a_long_principal_stays_short_and_is_worth_nothing_to_others(principal: str) -> None:
    written = tickets.written(KEY, msgspec.structs.replace(TICKET, principal=principal))
    assert len(written) < 512
    assert read(written, principal) is not None
    assert read(written, principal[:-1]) is None
