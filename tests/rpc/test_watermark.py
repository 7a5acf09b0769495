from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.rpc.watermark import Watermark


def watermark(high: float, low: float) -> tuple[Watermark, list[str]]:
    told: list[str] = []
    return Watermark(high, low, lambda: told.append("full"), lambda: told.append("room")), told


def test_it_is_full_above_the_high_mark_and_has_room_again_at_the_low_one() -> None:
    mark, told = watermark(10, 4)
    for level, expected in ((10, []), (11, ["full"]), (12, []), (5, []), (4, ["room"]), (10, []), (11, ["full"])):
        mark.level(level)
        assert told == expected
        told.clear()


@given(st.lists(st.integers(0, 20)), st.integers(0, 20), st.integers(0, 20))
def test_it_tells_of_each_change_once(levels: list[int], one: int, other: int) -> None:
    mark, told = watermark(max(one, other), min(one, other))
    for level in levels:
        mark.level(level)
        assert mark.is_full == (bool(told) and told[-1] == "full")
        assert mark.is_full or level <= max(one, other)
        assert not mark.is_full or level > min(one, other)
    assert told == ["full", "room"] * (len(told) // 2) + ["full"] * (len(told) % 2)


def test_a_producer_that_makes_more_when_it_is_told_is_told_again() -> None:
    told: list[str] = []

    def has_room() -> None:
        told.append("room")
        mark.level(5)

    mark = Watermark(4, 0, lambda: told.append("full"), has_room)
    mark.level(5)
    mark.level(0)
    assert told == ["full", "room", "full"]
    assert mark.is_full
