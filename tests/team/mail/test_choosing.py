"""Which mail begins a turn: idle notices never, and mail that goes in circles not for ever."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.budgets import Budget, Traffic
from codex_mcp.mail.message import IdKind, Message
from codex_mcp.team.mail.choosing import IDLE_NOTICE, Choice, choose, turn_of

ARCH = Address("arch", "t")
BUDGET = Budget(hops=4, per_pair=2, per_agent=3, window=100)

MESSAGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, IDLE_NOTICE]), st.integers(0, 5)), max_size=8
).map(lambda rows: [message(str(at), *row) for at, row in enumerate(rows)])


def message(key: str, sender: str = "dev", kind: str | None = None, hops: int = 0) -> Message:
    return Message(id=key, id_kind=IdKind.ATM, sender=sender, text="x", kind=kind, hops=hops)


def after(turns: int, sender: str = "dev") -> Traffic:
    """The traffic after this many turns, one each second."""
    traffic: Traffic = ()
    for at in range(turns):
        traffic = (*traffic, turn_of(ARCH, [message("x", sender)], at))
    return traffic


@given(MESSAGES, st.integers(0, 4))
def test_every_message_is_chosen_held_superfluous_or_a_notice_that_waits(unread: list[Message], turns: int) -> None:
    choice = choose(ARCH, unread, after(turns, "a"), BUDGET, 10)
    groups = [choice.chosen, choice.superfluous, frozenset(choice.held)]
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    rest = {each.id: each.kind for each in unread if not any(each.id in group for group in groups)}
    assert set(rest.values()) <= {IDLE_NOTICE}
    assert not (rest and choice.chosen)
    begins = [each for each in unread if each.id in choice.chosen and each.kind is None]
    assert bool(begins) == bool(choice.chosen)
    assert all(each.hops < BUDGET.hops for each in begins)


def test_idle_notices_are_collapsed_and_begin_no_turn() -> None:
    notices = [message(key, sender, IDLE_NOTICE) for key, sender in (("1", "a"), ("2", "b"), ("3", "a"))]
    assert choose(ARCH, notices, (), BUDGET, 0) == Choice(superfluous=frozenset("1"))
    assert choose(ARCH, [*notices, message("4")], (), BUDGET, 0).chosen == frozenset("234")


def test_mail_that_has_gone_on_for_too_long_is_held_for_ever() -> None:
    unread = [message("1", hops=3), message("2", hops=4)]
    assert choose(ARCH, unread, (), BUDGET, 0) == Choice(chosen=frozenset("1"), held=("2",))


def test_two_that_write_too_often_wait_and_others_do_not() -> None:
    unread = [message("1"), message("2", "qa")]
    assert choose(ARCH, unread, after(2), BUDGET, 10) == Choice(chosen=frozenset("2"), held=("1",), free_at=100)
    assert choose(ARCH, unread, after(3), BUDGET, 10) == Choice(held=("1", "2"), free_at=100)
    assert choose(ARCH, unread, after(3), BUDGET, 200).chosen == frozenset("12")
