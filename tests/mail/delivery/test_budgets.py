from hypothesis import example, given
from hypothesis import strategies as st

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.budgets import (
    Budget,
    Traffic,
    Turn,
    Verdict,
    free_at,
    is_notice_due,
    next_hops,
    verdict,
)
from codex_mcp.mail.message import IdKind, Message

A, B, C = (Address(name, "alpha") for name in "abc")
BUDGET = Budget(hops=4, per_pair=3, per_agent=5, window=100.0)


def mail(hops: int) -> Message:
    return Message(id="1", id_kind=IdKind.ATM, sender="a", text="b", hops=hops)


def turn(at: float, agent: Address, *senders: Address) -> Turn:
    return Turn(at, agent, frozenset(senders))


def test_every_answer_to_mail_has_one_hop_more() -> None:
    assert next_hops([]) == 0
    assert next_hops([mail(0)]) == 1
    assert next_hops([mail(2), mail(5)]) == 6


def test_mail_that_came_too_far_begins_no_turn() -> None:
    assert verdict((), turn(0, A, B), 3, BUDGET) is Verdict.ALLOWED
    assert verdict((), turn(0, A, B), 4, BUDGET) is Verdict.TOO_MANY_HOPS


def test_two_agents_that_answer_each_other_stop() -> None:
    traffic: Traffic = ()
    for number in range(3):
        now = turn(number, (A, B)[number % 2], (B, A)[number % 2])
        assert verdict(traffic, now, 0, BUDGET) is Verdict.ALLOWED
        traffic = (*traffic, now)
    assert verdict(traffic, turn(3, B, A), 0, BUDGET) is Verdict.PAIR_EXHAUSTED
    assert verdict(traffic, turn(3, B, C), 0, BUDGET) is Verdict.ALLOWED
    assert verdict(traffic, turn(3, B, C, A), 0, BUDGET) is Verdict.PAIR_EXHAUSTED
    assert free_at(traffic, turn(3, B, A), BUDGET) == 100
    assert free_at(traffic, turn(3, B, C), BUDGET) == 3


def test_an_agent_that_gets_mail_from_many_stops() -> None:
    traffic: Traffic = ()
    for number in range(5):
        traffic = (*traffic, turn(number, A, Address(f"s{number}", "beta")))
    assert verdict(traffic, turn(5, A, C), 0, BUDGET) is Verdict.AGENT_EXHAUSTED
    assert verdict(traffic, turn(101, A, C), 0, BUDGET) is Verdict.ALLOWED


TURNS = st.lists(
    st.tuples(st.floats(0, 500), st.sampled_from([A, B, C]), st.frozensets(st.sampled_from([A, B, C]), min_size=1)),
    max_size=40,
)


@given(TURNS)
@example(
    [(1e-163, A, frozenset([A])), (1e-150, A, frozenset([A])), (1e-150, A, frozenset([A])), (1.0, A, frozenset([A]))]
)
def test_no_window_has_more_turns_than_the_budget(asked: list[tuple[float, Address, frozenset[Address]]]) -> None:
    traffic: Traffic = ()
    for at, agent, senders in sorted(asked, key=lambda one: one[0]):
        now = Turn(at, agent, senders)
        free = free_at(traffic, now, BUDGET)
        assert (free == at) is (verdict(traffic, now, 0, BUDGET) is Verdict.ALLOWED)
        if free == at:
            traffic = (*traffic, now)
        for who in (A, B, C):
            recent = [turn for turn in traffic if turn.at + BUDGET.window > at]
            assert sum(turn.agent == who for turn in recent) <= BUDGET.per_agent


def test_turns_of_a_clock_that_was_set_back_do_not_count() -> None:
    traffic = tuple(turn(1000 + number, A, B) for number in range(5))
    assert verdict(traffic, turn(1010, A, B), 0, BUDGET) is Verdict.AGENT_EXHAUSTED
    assert verdict(traffic, turn(10, A, B), 0, BUDGET) is Verdict.ALLOWED


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_lead_is_told_once_in_a_window(told: float, now: float) -> None:
    assert is_notice_due(None, now, BUDGET)
    assert is_notice_due(told, now, BUDGET) is (now < told or now >= told + BUDGET.window)
