"""A cancel that comes at once means that no person is there; anything else is a decision."""

import pytest

from codex_mcp.mcp.asking.presence import AT_ONCE, REACTION_TIME, REMEMBERED, Unattended, is_unattended

CANCEL = {"action": "cancel"}


@pytest.mark.parametrize(
    ("answer", "seconds", "load", "unattended"),
    [
        (CANCEL, 0.0, 0.0, True),
        (CANCEL, 0.01, 1.0, True),
        ({"action": "cancel", "content": None}, 0.01, 1.0, True),
        (CANCEL, AT_ONCE, 0.0, True),
        (CANCEL, AT_ONCE + 0.001, 0.0, False),
        (CANCEL, AT_ONCE + 0.001, 1.0, False),
        (CANCEL, 0.2, 5.0, True),
        (CANCEL, REACTION_TIME, 100.0, True),
        (CANCEL, REACTION_TIME + 0.001, 100.0, False),
        (CANCEL, 2.0, 0.0, False),
        (CANCEL, -1.0, 0.0, False),
        ({"action": "decline"}, 0.01, 0.0, False),
        ({"action": "accept"}, 0.01, 0.0, False),
        ({"action": "cancel", "decision": "denied"}, 0.01, 0.0, False),
        ({"decision": "abort"}, 0.01, 0.0, False),
        ("cancel", 0.01, 0.0, False),
        (None, 0.01, 0.0, False),
    ],
)
def test_only_a_cancel_at_once_means_that_no_person_is_there(
    answer: object, seconds: float, load: float, *, unattended: bool
) -> None:
    assert is_unattended(answer, seconds, load) is unattended


def test_a_client_without_a_person_is_remembered_for_a_while() -> None:
    clients = Unattended()
    assert not clients.has("ada", 0)
    clients.add("ada", 0)
    assert clients.has("ada", REMEMBERED - 1)
    assert not clients.has("bob", 1)
    assert not clients.has("ada", REMEMBERED)
    assert not clients.has("ada", 1), "it was forgotten"


def test_of_too_many_clients_the_oldest_is_forgotten() -> None:
    clients = Unattended(max_clients=2)
    for caller in ("ada", "bob", "ada", "eve"):
        clients.add(caller, 0)
    assert [clients.has(caller, 1) for caller in ("ada", "bob", "eve")] == [True, False, True]
