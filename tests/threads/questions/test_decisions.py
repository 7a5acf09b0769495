"""Decisions and their spellings."""

import pytest

from codex_mcp.threads.questions.decisions import (
    MAX_REASON_CHARS,
    PLAIN_WORDS,
    Aborted,
    Approved,
    Decision,
    Denied,
    Filled,
    NetworkRuled,
    RuleApproved,
    Scope,
    failed,
    is_approval,
    old_decision,
    short_reason,
    timed_out,
    word_for,
)
from codex_mcp.wire.app.questions import NetworkAmendment

ALLOW, DENY = NetworkAmendment("example.org", "allow"), NetworkAmendment("example.org", "deny")

TABLE: list[tuple[Decision, str, bool]] = [
    (Approved(), "approved", True),
    (Approved(Scope.SESSION), "approved_for_session", True),
    (Approved(Scope.ALWAYS), "approved_mcp_policy_amendment", True),
    (RuleApproved(("make",)), "approved_execpolicy_amendment", True),
    (NetworkRuled(ALLOW), "network_policy_allow", True),
    (NetworkRuled(DENY), "network_policy_deny", False),
    (Filled({"city": "Riga"}), "approved", True),
    (Denied("no"), "denied", False),
    (Aborted(), "abort", False),
]


@pytest.mark.parametrize(("decision", "word", "approves"), TABLE)
def test_every_decision_has_a_word_and_is_a_yes_or_a_no(decision: Decision, word: str, approves: bool) -> None:  # noqa: FBT001
    assert word_for(decision) == word
    assert is_approval(decision) is approves


@pytest.mark.parametrize("word", [word for word in PLAIN_WORDS if word != "timed_out"])
def test_a_plain_word_is_spelled_back_as_it_was_read(word: str) -> None:
    assert old_decision(PLAIN_WORDS[word]) == word


def test_decisions_with_data_are_spelled_as_the_old_server_did() -> None:
    assert old_decision(RuleApproved(("make", "docs"))) == {
        "approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["make", "docs"]}
    }
    assert old_decision(NetworkRuled(ALLOW)) == {
        "network_policy_amendment": {"network_policy_amendment": {"host": "example.org", "action": "allow"}}
    }


def test_refusals_without_a_person_say_why() -> None:
    assert timed_out(600.0) == Denied("no one answered within 600 seconds")
    assert failed("no window") == Denied("the MCP client could not ask the user: no window")


def test_a_reason_is_cut_to_a_page() -> None:
    assert short_reason("x" * MAX_REASON_CHARS) == "x" * MAX_REASON_CHARS
    assert short_reason("x" * (MAX_REASON_CHARS + 1)) == "x" * (MAX_REASON_CHARS - 1) + "…"
