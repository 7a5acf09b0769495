"""Which mail begins a turn: idle notices never, and mail that goes in circles not for ever."""

from hypothesis import example, given
from hypothesis import strategies as st

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.loop_protection import (
    IDLE_NOTICE,
    Budget,
    Choice,
    MailTurn,
    MailVerdict,
    Traffic,
    choose,
    free_at,
    is_notice_due,
    mail_turn_of,
    next_hops,
    verdict,
)
from codex_mcp.mail.message import IdKind, Message

A, B, C = (Address(name, "alpha") for name in "abc")
BUDGET = Budget(hops=4, per_pair=3, per_agent=5, window=100.0)


def mail(hops: int) -> Message:
    return Message(id="1", id_kind=IdKind.ATM, sender="a", text="b", hops=hops)


def turn(at: float, agent: Address, *senders: Address) -> MailTurn:
    return MailTurn(at, agent, frozenset(senders))


def test_every_answer_to_mail_has_one_hop_more() -> None:
    assert next_hops([]) == 0
    assert next_hops([mail(0)]) == 1
    assert next_hops([mail(2), mail(5)]) == 6


def test_mail_that_came_too_far_begins_no_turn() -> None:
    assert verdict((), turn(0, A, B), 3, BUDGET) is MailVerdict.ALLOWED
    assert verdict((), turn(0, A, B), 4, BUDGET) is MailVerdict.TOO_MANY_HOPS


def test_two_agents_that_answer_each_other_stop() -> None:
    traffic: Traffic = ()
    for number in range(3):
        now = turn(number, (A, B)[number % 2], (B, A)[number % 2])
        assert verdict(traffic, now, 0, BUDGET) is MailVerdict.ALLOWED
        traffic = (*traffic, now)
    assert verdict(traffic, turn(3, B, A), 0, BUDGET) is MailVerdict.PAIR_EXHAUSTED
    assert verdict(traffic, turn(3, B, C), 0, BUDGET) is MailVerdict.ALLOWED
    assert verdict(traffic, turn(3, B, C, A), 0, BUDGET) is MailVerdict.PAIR_EXHAUSTED
    assert free_at(traffic, turn(3, B, A), BUDGET) == 100
    assert free_at(traffic, turn(3, B, C), BUDGET) == 3


def test_an_agent_that_gets_mail_from_many_stops() -> None:
    traffic: Traffic = ()
    for number in range(5):
        traffic = (*traffic, turn(number, A, Address(f"s{number}", "beta")))
    assert verdict(traffic, turn(5, A, C), 0, BUDGET) is MailVerdict.AGENT_EXHAUSTED
    assert verdict(traffic, turn(101, A, C), 0, BUDGET) is MailVerdict.ALLOWED


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
        now = MailTurn(at, agent, senders)
        free = free_at(traffic, now, BUDGET)
        assert (free == at) is (verdict(traffic, now, 0, BUDGET) is MailVerdict.ALLOWED)
        if free == at:
            traffic = (*traffic, now)
        for who in (A, B, C):
            recent = [turn for turn in traffic if turn.at + BUDGET.window > at]
            assert sum(turn.agent == who for turn in recent) <= BUDGET.per_agent


def test_turns_of_a_clock_that_was_set_back_do_not_count() -> None:
    traffic = tuple(turn(1000 + number, A, B) for number in range(5))
    assert verdict(traffic, turn(1010, A, B), 0, BUDGET) is MailVerdict.AGENT_EXHAUSTED
    assert verdict(traffic, turn(10, A, B), 0, BUDGET) is MailVerdict.ALLOWED


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_lead_is_told_once_in_a_window(told: float, now: float) -> None:
    assert is_notice_due(None, now, BUDGET)
    assert is_notice_due(told, now, BUDGET) is (now < told or now >= told + BUDGET.window)


ARCH = Address("arch", "t")
FEW = Budget(hops=4, per_pair=2, per_agent=3, window=100)

MESSAGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, IDLE_NOTICE]), st.integers(0, 5)), max_size=8
).map(lambda rows: [message(str(at), *row) for at, row in enumerate(rows)])


def message(key: str, sender: str = "dev", kind: str | None = None, hops: int = 0) -> Message:
    return Message(id=key, id_kind=IdKind.ATM, sender=sender, text="x", kind=kind, hops=hops)


def after(turns: int, sender: str = "dev") -> Traffic:
    """The traffic after this many turns, one each second."""
    traffic: Traffic = ()
    for at in range(turns):
        traffic = (*traffic, mail_turn_of(ARCH, [message("x", sender)], at))
    return traffic


@given(MESSAGES, st.integers(0, 4))
def test_every_message_is_chosen_held_superfluous_or_a_notice_that_waits(unread: list[Message], turns: int) -> None:
    choice = choose(ARCH, unread, after(turns, "a"), FEW, 10)
    groups = [choice.chosen, choice.superfluous, frozenset(choice.held)]
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    rest = {each.id: each.kind for each in unread if not any(each.id in group for group in groups)}
    assert set(rest.values()) <= {IDLE_NOTICE}
    assert not (rest and choice.chosen)
    begins = [each for each in unread if each.id in choice.chosen and each.kind is None]
    assert bool(begins) == bool(choice.chosen)
    assert all(each.hops < FEW.hops for each in begins)


def test_idle_notices_are_collapsed_and_begin_no_turn() -> None:
    notices = [message(key, sender, IDLE_NOTICE) for key, sender in (("1", "a"), ("2", "b"), ("3", "a"))]
    assert choose(ARCH, notices, (), FEW, 0) == Choice(superfluous=frozenset("1"))
    assert choose(ARCH, [*notices, message("4")], (), FEW, 0).chosen == frozenset("234")


def test_mail_that_has_gone_on_for_too_long_is_held_for_ever() -> None:
    unread = [message("1", hops=3), message("2", hops=4)]
    assert choose(ARCH, unread, (), FEW, 0) == Choice(chosen=frozenset("1"), held={"2": MailVerdict.TOO_MANY_HOPS})


def test_two_that_write_too_often_wait_and_others_do_not() -> None:
    unread = [message("1"), message("2", "qa")]
    assert choose(ARCH, unread, after(2), FEW, 10) == Choice(
        chosen=frozenset("2"), held={"1": MailVerdict.PAIR_EXHAUSTED}, free_at=100
    )
    assert choose(ARCH, unread, after(3), FEW, 10) == Choice(
        held={"1": MailVerdict.AGENT_EXHAUSTED, "2": MailVerdict.AGENT_EXHAUSTED}, free_at=100
    )
    assert choose(ARCH, unread, after(3), FEW, 200).chosen == frozenset("12")
