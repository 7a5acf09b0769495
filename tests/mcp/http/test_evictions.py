"""Which sessions give way when no more fit."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from codex_mcp.mcp.http.evictions import to_evict


class Held(Struct, frozen=True):
    principal: str
    spoke: bool
    busy: bool
    used_at: float


NOW = 6.0

SESSIONS = st.lists(st.builds(Held, st.sampled_from("ab"), st.booleans(), st.booleans(), st.integers(0, 9).map(float)))


def test_a_session_that_never_sent_a_message_goes_first_then_the_longest_unused_of_the_largest_principal() -> None:
    silent = Held("ada", spoke=False, busy=False, used_at=9)
    listened = Held("ada", spoke=False, busy=True, used_at=1)
    works = Held("bob", spoke=True, busy=True, used_at=0)
    alone = Held("ada", spoke=True, busy=False, used_at=1)
    old, new, used = (Held("bob", spoke=True, busy=False, used_at=at) for at in (3, 4, 5))
    sessions = [works, new, listened, used, alone, old, silent, works]
    assert to_evict(sessions, 10, idle_since=4) == [silent, old, new, alone, listened]
    assert to_evict(sessions, 2, idle_since=4) == [silent, old]


@given(SESSIONS, st.integers(0, 12))
def test_what_is_in_use_never_gives_way_and_as_many_go_as_can(sessions: list[Held], count: int) -> None:
    evicted = to_evict(sessions, count, NOW)
    can = [each for each in sessions if not each.spoke or (not each.busy and each.used_at <= NOW)]
    assert len(evicted) == min(count, len(can))
    assert not Counter(evicted) - Counter(can)


@given(SESSIONS, st.integers(0, 12))
def test_no_session_that_spoke_goes_before_an_idle_one_that_did_not(sessions: list[Held], count: int) -> None:
    evicted = to_evict(sessions, count, NOW)
    silent = sum(not session.busy and not session.spoke for session in sessions)
    if any(session.spoke for session in evicted):
        assert sum(not session.busy and not session.spoke for session in evicted) == silent
