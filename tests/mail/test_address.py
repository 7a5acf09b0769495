import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Refused
from codex_mcp.mail.address import Address, address_of


def test_an_address_without_a_team_is_in_the_senders() -> None:
    assert address_of("bob", "alpha") == Address("bob", "alpha")
    assert address_of("bob@beta", "alpha") == Address("bob", "beta")
    assert str(Address("bob", "beta")) == "bob@beta"


@pytest.mark.parametrize("text", ["", "@", "@beta", "../bob", "a/b", "a.b", ".bob", "a\x00b", "-bob", "b" * 65])
def test_a_name_that_could_leave_the_folder_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="as the name of an agent: use up to 64 letters"):
        address_of(text, "alpha")


@pytest.mark.parametrize("text", ["bob@", "bob@..", "bob@a/b", "bob@.hidden", "bob@a@b"])
def test_a_team_that_could_leave_the_folder_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="as the name of a team"):
        address_of(text, "alpha")


@given(st.text())
def test_what_is_accepted_is_one_part_of_a_path(text: str) -> None:
    try:
        address = address_of(text, "alpha")
    except Refused:
        return
    for name in (address.agent, address.team):
        assert "/" not in name
        assert name not in ("", ".", "..")
        assert "\0" not in name
