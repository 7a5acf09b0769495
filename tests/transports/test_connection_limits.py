"""Which connections are closed when too many have no valid token."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports.connection_limits import ConnectionLimits

HERE, THERE, ELSEWHERE = "", "192.0.2.1", "192.0.2.2"


def nobody_sent(_key: int) -> bool:
    return False


def opened(limits: ConnectionLimits[int], key: int, address: str = HERE) -> list[int]:
    """One more, long after the one before."""
    return limits.opened(key, address, 10.0 * key, nobody_sent)


def test_of_too_many_strangers_the_oldest_goes_and_of_one_address_its_oldest() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(16)
    assert [opened(limits, key) for key in range(8)] == [[]] * 8
    assert opened(limits, 8) == [0]
    assert opened(limits, 9, THERE) == [1]
    assert opened(limits, 10, THERE) == [2]
    assert opened(limits, 11, THERE) == [9]
    assert opened(limits, 12, ELSEWHERE) == [3]


def test_one_that_was_admitted_is_never_closed_and_leaves_its_place_to_a_stranger() -> None:
    limits: ConnectionLimits[int] = ConnectionLimits(4)
    for key in range(4):
        assert opened(limits, key) == []
        limits.admitted(key)
    assert opened(limits, 4) == [4], "everything is taken"
    limits.closed(0)
    assert opened(limits, 5) == []
    assert (len(limits), limits.count) == (4, 1)


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
            limits.admitted(key)
            admitted.add(key)
        elif what == "close" and known:
            key = known[which % len(known)]
            limits.closed(key)
            limits.closed(key)
            admitted.discard(key)
            unknown = [each for each in unknown if each != key]
        assert (len(limits), limits.count) == (len(unknown) + len(admitted), len(unknown))
        assert len(unknown) <= limits.most
        assert len(limits) <= total
