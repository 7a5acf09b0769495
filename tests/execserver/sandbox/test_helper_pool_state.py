from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from codex_mcp.execserver.sandbox.helper_pool_state import HelperPoolState, ViewKey

ROOM = 3
KEPT = 10.0

A, A_CHANGED, B = ViewKey("a", 1), ViewKey("a", 2), ViewKey("b", 1)
KEYS = st.builds(ViewKey, st.sampled_from("abcd"), st.integers(1, 2))


def shelf_with(*keys: ViewKey) -> HelperPoolState[int]:
    """HelperPool 0, 1, … of these views wait, since 0, 1, …"""
    shelf: HelperPoolState[int] = HelperPoolState(ROOM, KEPT)
    for _ in keys:
        shelf.take(ViewKey("nobody's", 0))
    for number, key in enumerate(keys):
        shelf.put_back(number, key, float(number))
    return shelf


def test_a_helper_of_the_same_view_is_used_again_the_last_one_first() -> None:
    shelf = shelf_with(A, A, B)
    assert shelf.take(A) == (1, [])
    assert shelf.take(A) == (0, [])
    assert shelf.take(B) == (2, [])


def test_helpers_of_a_view_that_has_changed_end() -> None:
    assert shelf_with(A, B, A).take(A_CHANGED) == (None, [0, 2])


def test_without_room_the_one_longest_unused_ends() -> None:
    assert shelf_with(A, A, A).take(B) == (None, [0])
    assert shelf_with(A, A).take(B) == (None, [])


def test_helpers_end_when_they_have_waited_long_enough() -> None:
    shelf = shelf_with(A, B)
    assert shelf.next_expiry() == KEPT
    assert shelf.expire(KEPT - 0.1) == []
    assert shelf.expire(KEPT) == [0]
    assert shelf.next_expiry() == KEPT + 1
    assert shelf.expire(KEPT + 1) == [1]
    assert shelf.next_expiry() is None


class Using(RuleBasedStateMachine):
    """HelperPool come and go in any order; as in use, no more than there is room for work at once."""

    def __init__(self) -> None:
        super().__init__()
        self.shelf: HelperPoolState[int] = HelperPoolState(ROOM, KEPT)
        self.working: dict[int, ViewKey] = {}
        self.alive: dict[int, ViewKey] = {}
        self.waiting_since: dict[int, float] = {}
        self.started = 0
        self.now = 0.0

    def ended(self, helpers: list[int]) -> None:
        for helper in helpers:
            assert helper not in self.working, "nobody is ended at work"
            del self.alive[helper], self.waiting_since[helper]

    @precondition(lambda self: len(self.working) < ROOM)
    @rule(key=KEYS)
    def request(self, key: ViewKey) -> None:
        could = {helper for helper in self.waiting_since if self.alive[helper] == key}
        helper, ended = self.shelf.take(key)
        self.ended(ended)
        if helper is None:
            assert not could
            helper, self.started = self.started, self.started + 1
            self.alive[helper] = key
        else:
            assert helper in could
            del self.waiting_since[helper]
        self.working[helper] = key
        assert all(self.alive[one] == key for one in self.waiting_since if self.alive[one].policy == key.policy)

    @precondition(lambda self: self.working)
    @rule(data=st.data(), survives=st.booleans())
    def done(self, data: st.DataObject, *, survives: bool) -> None:
        helper = data.draw(st.sampled_from(sorted(self.working)))
        key = self.working.pop(helper)
        if survives:
            self.shelf.put_back(helper, key, self.now)
            self.waiting_since[helper] = self.now
        else:
            self.shelf.lost()
            del self.alive[helper]

    @rule(seconds=st.floats(0, 2 * KEPT))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.ended(self.shelf.expire(self.now))
        assert all(since + KEPT > self.now for since in self.waiting_since.values())

    @rule()
    def all_end(self) -> None:
        self.ended(self.shelf.remove(lambda _one: True))
        assert not self.waiting_since

    @invariant()
    def nobody_is_forgotten_and_there_is_room(self) -> None:
        assert len(self.shelf) == len(self.alive) <= ROOM


TestUsing = Using.TestCase
