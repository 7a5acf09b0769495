"""Which connections are closed when too many have no valid token."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports.budgets import Rank, Use
from codex_mcp.transports.connection_limits import ConnectionLimits

HERE, THERE, ELSEWHERE = "", "192.0.2.1", "192.0.2.2"


def nobody_sent(_key: int) -> bool:
    return False


def opened(limits: ConnectionLimits[int], key: int, address: str = HERE) -> list[int]:
    """One more, long after the one before."""
    return limits.opened(key, address, 10.0 * key, nobody_sent)


def test_of_too_many_strangers_the_oldest_goes_and_of_one_address_its_oldest() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(32)
    assert [opened(limits, key) for key in range(8)] == [[]] * 8
    assert opened(limits, 8) == [0]
    assert opened(limits, 9, THERE) == [1]
    assert opened(limits, 10, THERE) == [2]
    assert opened(limits, 11, THERE) == [3]
    assert opened(limits, 12, THERE) == [4]
    assert opened(limits, 13, THERE) == [9]
    assert opened(limits, 14, ELSEWHERE) == [5]


def idle(key: int) -> Use:
    return Use(Rank.IDLE, key)


def test_no_stranger_takes_the_place_of_one_that_was_admitted() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(8)
    for key in range(7):
        assert opened(limits, key) == []
        assert limits.admitted(key, "ada", idle) is None
    assert opened(limits, 7) == [], "one place is kept for strangers"
    assert opened(limits, 8) == [7], "everything is taken"
    limits.closed(0)
    assert opened(limits, 9) == []
    assert (len(limits), limits.count) == (8, 2)


def test_when_all_are_taken_the_longest_idle_one_of_whoever_has_the_most_goes() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(8)
    for key in range(7):
        opened(limits, key)
        limits.admitted(key, "ada" if key < 5 else "bob", idle)
    opened(limits, 7)
    assert limits.admitted(7, "bob", idle) == 0, "ada has five, bob has two and takes a third"
    opened(limits, 8)
    assert limits.admitted(8, "bob", idle) == 5, "both have four now: bob pays for himself"
    assert limits.admitted(0, "ada", idle) is None, "it was closed"


def test_one_address_of_strangers_has_an_eighth() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(16)
    assert [opened(limits, key, THERE) for key in range(3)] == [[], [], [0]]


def test_one_that_is_young_or_has_sent_something_is_spared_as_long_as_there_is_room() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(6)
    for key in range(3):
        opened(limits, key)
    assert limits.opened(3, HERE, 100.0, lambda key: key in (0, 1)) == [2]
    assert limits.opened(4, HERE, 100.0, lambda _key: True) == []
    limits.closed(0)
    limits.closed(1)
    assert [limits.opened(key, HERE, 100.5, nobody_sent) for key in (5, 6, 7, 8)] == [[]] * 4
    assert limits.opened(9, HERE, 100.5, nobody_sent) == [3], "no more than six fit"
    assert limits.opened(10, HERE, 100.5, lambda _key: True) == [4]
    limits.closed(10)
    assert limits.opened(11, HERE, 101.5, nobody_sent) == [5], "it had a second"


def test_hundreds_of_clients_may_connect_at_once() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(896)
    assert not any(limits.opened(key, HERE, 0.0, nobody_sent) for key in range(800))


@given(
    st.integers(1, 12),
    st.lists(
        st.tuples(st.sampled_from(["open", "admit", "close"]), st.integers(0, 20), st.sampled_from(["", "a", "b"]))
    ),
)
def test_there_are_never_more_than_fit_and_only_strangers_go(total: int, steps: list[tuple[str, int, str]]) -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(total)
    unknown: list[int] = []
    admitted: set[int] = set()
    for number, (what, which, address) in enumerate(steps):
        known = [*unknown, *admitted]
        if what == "open" and len(admitted) < total:
            unknown.append(number)
            for gone in opened(limits, number, address):
                unknown.remove(gone)
        elif what == "admit" and unknown:
            key = unknown.pop(which % len(unknown))
            admitted.add(key)
            gone_one = limits.admitted(key, f"principal {which % 3}", idle)
            admitted.discard(-1 if gone_one is None else gone_one)
        elif what == "close" and known:
            key = known[which % len(known)]
            limits.closed(key)
            limits.closed(key)
            admitted.discard(key)
            unknown = [each for each in unknown if each != key]
        assert (len(limits), limits.count) == (len(unknown) + len(admitted), len(unknown))
        assert len(unknown) <= limits.most
        assert len(limits) <= total
