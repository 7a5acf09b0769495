"""Which connections are closed when too many have no valid token."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.transports.strangers import Strangers

HERE, THERE, ELSEWHERE = "", "192.0.2.1", "192.0.2.2"


def nobody_sent(_key: int) -> bool:
    return False


def test_of_too_many_strangers_the_oldest_goes_and_of_one_address_its_oldest() -> None:
    strangers: Strangers[int] = Strangers(16)
    assert [strangers.opened(key, HERE, nobody_sent) for key in range(8)] == [[]] * 8
    assert strangers.opened(8, HERE, nobody_sent) == [0]
    assert strangers.opened(9, THERE, nobody_sent) == [1]
    assert strangers.opened(10, THERE, nobody_sent) == [2]
    assert strangers.opened(11, THERE, nobody_sent) == [9]
    assert strangers.opened(12, ELSEWHERE, nobody_sent) == [3]


def test_one_that_was_admitted_is_never_closed_and_leaves_its_place_to_a_stranger() -> None:
    strangers: Strangers[int] = Strangers(4)
    for key in range(4):
        assert strangers.opened(key, HERE, nobody_sent) == []
        strangers.admitted(key)
    assert strangers.opened(4, HERE, nobody_sent) == [4], "everything is taken"
    strangers.closed(0)
    assert strangers.opened(5, HERE, nobody_sent) == []
    assert (len(strangers), strangers.count) == (4, 1)


def test_one_that_has_sent_something_is_spared_as_long_as_there_is_room() -> None:
    strangers: Strangers[int] = Strangers(6)
    for key in range(3):
        strangers.opened(key, HERE, nobody_sent)
    assert strangers.opened(3, HERE, lambda key: key in (0, 1)) == [2]
    assert [strangers.opened(key, HERE, lambda _key: True) for key in (4, 5, 6)] == [[], [], []]
    assert strangers.opened(7, HERE, lambda _key: True) == [0], "no more than six fit"


def test_hundreds_of_clients_may_connect_at_once() -> None:
    strangers: Strangers[int] = Strangers(896)
    assert not any(strangers.opened(key, HERE, lambda _key: True) for key in range(800))


@given(
    st.integers(1, 12),
    st.lists(
        st.tuples(st.sampled_from(["open", "admit", "close"]), st.integers(0, 20), st.sampled_from(["", "a", "b"]))
    ),
)
def test_there_are_never_more_than_fit_and_only_strangers_go(total: int, steps: list[tuple[str, int, str]]) -> None:
    strangers: Strangers[int] = Strangers(total)
    unknown: list[int] = []
    admitted: set[int] = set()
    for number, (what, which, address) in enumerate(steps):
        known = [*unknown, *admitted]
        if what == "open" and len(admitted) < total:
            unknown.append(number)
            for gone in strangers.opened(number, address, nobody_sent):
                unknown.remove(gone)
        elif what == "admit" and unknown:
            key = unknown.pop(which % len(unknown))
            strangers.admitted(key)
            admitted.add(key)
        elif what == "close" and known:
            key = known[which % len(known)]
            strangers.closed(key)
            strangers.closed(key)
            admitted.discard(key)
            unknown = [each for each in unknown if each != key]
        assert (len(strangers), strangers.count) == (len(unknown) + len(admitted), len(unknown))
        assert len(unknown) <= strangers.most
        assert len(strangers) <= total
