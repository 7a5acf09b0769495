"""The token file of a rendezvous: principals, tokens, and patterns of environments."""

import hashlib

import pytest

from codex_mcp.rendezvous.grants import ExecutorGrant, is_environment_id, parse_token_file

TOKEN = "a-token-that-is-long-enough"


def test_a_line_names_a_principal_its_token_and_its_grants() -> None:
    parsed = parse_token_file(
        f"# who\n\nci {TOKEN} register=build-*\nalice {TOKEN}2 reach=build-*,mine register=mine\n"
    )
    assert parsed.tokens == {
        hashlib.sha256(text.encode()).digest(): name for text, name in ((TOKEN, "ci"), (TOKEN + "2", "alice"))
    }
    assert parsed.grants == {"ci": ExecutorGrant(("build-*",)), "alice": ExecutorGrant(("mine",), ("build-*", "mine"))}


def test_two_lines_of_one_principal_add_up() -> None:
    parsed = parse_token_file(f"ci {TOKEN} register=a\nci {TOKEN}2 reach=b\n")
    assert parsed.grants["ci"] == ExecutorGrant(("a",), ("b",))
    assert len(parsed.tokens) == 2


def test_patterns_decide_who_may_do_what() -> None:
    grant = ExecutorGrant(("build-*",), ("build-?", "mine"))
    assert grant.may_register("build-7")
    assert not grant.may_register("mine")
    assert grant.may_reach("mine")
    assert not grant.may_reach("build-10")
    assert not ExecutorGrant().may_reach("anything")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no token"),
        (f"ci {TOKEN}", "line 1 grants nothing"),
        (f"ci {TOKEN} register=", "line 1 grants nothing"),
        (f"\nci {TOKEN} reach", "line 2 must continue"),
        ("ci short register=x", "line 1 is shorter"),
        ("ci", "line 1"),
        (f"ci {TOKEN} register=x\nbob {TOKEN} register=x", "line 2 gives bob"),
    ],
)
def test_a_line_that_is_wrong_is_named_without_its_token(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        parse_token_file(text)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_id"), [("build-1_x", True), ("", False), ("a/b", False), ("é", False), ("a" * 65, False)]
)
def test_environment_ids_are_those_of_codex(text: str, is_id: bool) -> None:  # noqa: FBT001
    assert is_environment_id(text) == is_id
