"""Identities of agents."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Refused
from codex_mcp.base.identity import LONGEST, choose_identity, is_identity, why_invalid
from codex_mcp.base.principals import LOCAL

names = st.from_regex(r"[a-z0-9][a-z0-9-]{0,63}", fullmatch=True)


class Everything:
    """A team in which every name is taken."""

    def __contains__(self, _: object) -> bool:
        return True


@pytest.mark.parametrize("name", ["codex", "arch-ctm", "dev-1", "7", "a" * LONGEST])
def test_plain_names_are_names(name: str) -> None:
    assert is_identity(name)
    assert why_invalid(name) is None


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("", "it is empty"),
        ("-a", "it begins with a hyphen"),
        ("Arch", "it contains 'A'"),
        ("a/b", "it contains '/'"),
        ("..", "it contains '.'"),
        ("a\n", "it contains '\\n'"),
        ("é", "it contains '\\xe9'"),
        ("٣", "it contains '\\u0663'"),
        ("a" * 65, "it has 65 characters"),
        ("codex:0123456789ab", "it contains ':'"),
    ],
)
def test_others_are_not_and_the_sentence_says_why(name: str, trouble: str) -> None:
    assert not is_identity(name)
    assert trouble in (why_invalid(name) or "")


@given(st.text(max_size=80))
def test_a_name_is_refused_with_one_line_or_is_what_the_rule_says(name: str) -> None:
    reason = why_invalid(name)
    assert (reason is None) == (re.fullmatch("[a-z0-9][a-z0-9-]{0,63}", name) is not None)
    assert reason is None or (reason.isascii() and reason.isprintable())


@given(st.one_of(st.none(), st.text()), names, st.sets(names))
def test_what_was_asked_for_is_never_changed_and_what_was_not_is_free(
    asked: str | None, default: str, taken: set[str]
) -> None:
    name = choose_identity(asked, default, taken)
    if asked is None:
        assert is_identity(name)
        assert name not in taken
    else:
        assert name == asked


@given(names, st.integers(min_value=0, max_value=30))
def test_defaults_are_numbered_without_gaps(default: str, others: int) -> None:
    taken: list[str] = []
    for _ in range(others + 1):
        taken.append(choose_identity(None, default, taken))
    assert len(set(taken)) == others + 1
    assert all(map(is_identity, taken))
    if len(default) < LONGEST - 2:
        assert taken == [default, *(f"{default}-{number}" for number in range(2, others + 2))]


def test_there_is_an_end_to_the_numbers() -> None:
    with pytest.raises(Refused, match="give an identity"):
        choose_identity(None, "codex", Everything())


def test_clients_without_a_token_share_a_principal_whose_name_is_in_records() -> None:
    assert LOCAL == "local"
