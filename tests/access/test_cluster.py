"""Servers of a cluster recognise each other, and nobody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.access import cluster
from codex_mcp.access.cluster import PROOF_PATIENCE, Challenges, Cluster, fingerprint, key_of, proof

KEY = key_of(b"0123456789abcdef" * 2)
OTHER = key_of(b"0123456789abcdef" * 3)


def test_whoever_seals_our_challenge_for_us_is_admitted_once() -> None:
    ours = Challenges(KEY, b"own")
    shown = proof(KEY, ours.make("1", 5.0), "them", "us")
    assert ours.admit(shown, "us", 5.0 + PROOF_PATIENCE) == "them"
    assert ours.admit(shown, "us", 5.0 + PROOF_PATIENCE) is None
    assert ours.admit(proof(KEY, ours.make("2", 6.0), "them", "us"), "us", 6.0) == "them"


@pytest.mark.parametrize(
    ("key", "of", "to", "now"),
    [
        (OTHER, "them", "us", 0.0),
        (KEY, "them", "others", 0.0),
        (KEY, "", "us", 0.0),
        (KEY, "them", "us", PROOF_PATIENCE + 0.1),
        (KEY, "them", "us", -0.1),
    ],
)
def test_any_other_proof_is_worth_nothing(key: bytes, of: str, to: str, now: float) -> None:
    ours = Challenges(KEY, b"own")
    assert ours.admit(proof(key, ours.make("1", 0.0), of, to), "us", now) is None


def test_a_challenge_of_another_server_is_not_ours() -> None:
    theirs = Challenges(KEY, b"of another process").make("1", 0.0)
    assert Challenges(KEY, b"own").admit(proof(KEY, theirs, "them", "us"), "us", 0.0) is None


@given(st.text())
def test_no_text_is_a_proof_or_an_address(text: str) -> None:
    assert Challenges(KEY, b"own").admit(text, "us", 0.0) is None
    assert Cluster(KEY).address_in(text) is None


def test_what_was_answered_is_forgotten_once_it_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "MOST_USED", 2)
    ours = Challenges(KEY, b"own")
    for serial in ("1", "2"):
        assert ours.admit(proof(KEY, ours.make(serial, 0.0), "them", "us"), "us", 0.0) == "them"
    assert ours.admit(proof(KEY, ours.make("3", 1.0), "them", "us"), "us", 1.0) is None
    later = PROOF_PATIENCE + 0.1
    assert ours.admit(proof(KEY, ours.make("4", later), "them", "us"), "us", later) == "them"


def test_an_address_counts_only_under_the_seal() -> None:
    told = Cluster(KEY, "https://agents-1.example:8443").address
    assert Cluster(KEY).address_in(told) == "https://agents-1.example:8443"
    assert Cluster(OTHER).address_in(told) is None
    assert Cluster(KEY).address_in("https://agents-1.example:8443") is None
    assert Cluster(KEY).address == ""


def test_a_fingerprint_tells_secrets_apart() -> None:
    assert fingerprint(KEY) == fingerprint(key_of(b" " + b"0123456789abcdef" * 2 + b"\n"))
    assert fingerprint(KEY) != fingerprint(OTHER)
    assert fingerprint(KEY) not in KEY.hex()
