"""When a wait is answered, and what each caller has been told: the whole table, and any order of events."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.news import News, NewsKind, Reported, WaitMode, WaitVerdict, verdict

KINDS = [NewsKind.ANSWER, NewsKind.QUESTION, NewsKind.PAUSE, NewsKind.CLOSE]
SETS = [set(kinds) for size in range(5) for kinds in itertools.combinations(KINDS, size)]


def expected(kinds: set[NewsKind], mode: WaitMode, *, runs: bool) -> WaitVerdict:
    if not kinds:
        return WaitVerdict.WAIT if runs else WaitVerdict.IDLE
    if NewsKind.QUESTION in kinds:
        return WaitVerdict.REPORT
    return WaitVerdict.WAIT if mode is WaitMode.ALL and runs else WaitVerdict.REPORT


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("mode", WaitMode)
@pytest.mark.parametrize("kinds", SETS, ids=lambda kinds: "+".join(sorted(kinds)) or "none")
def test_the_whole_table(kinds: set[NewsKind], mode: WaitMode, *, runs: bool) -> None:
    news = [News(kind, kind) for kind in kinds]
    assert verdict(news, mode, runs=runs) is expected(kinds, mode, runs=runs)


def test_what_one_caller_was_told_is_news_to_another() -> None:
    reported = Reported()
    reported.add("ada", 1, ["turn"])
    assert reported.has("ada", "turn")
    assert not reported.has("bob", "turn")
    assert not reported.has("ada", "other")


def test_an_answer_that_did_not_arrive_told_nothing_and_others_are_left_alone() -> None:
    reported = Reported()
    reported.add("ada", 1, ["one", "two"])
    reported.add("ada", 2, ["three"])
    reported.add("ada", 1, [])
    assert not reported.revoke("ada", 7)
    assert not reported.revoke("bob", 1)
    assert reported.revoke("ada", 1)
    assert [reported.has("ada", key) for key in ("one", "two", "three")] == [False, False, True]
    assert not reported.revoke("ada", 1)


def test_an_answer_that_was_noted_in_two_steps_is_revoked_as_a_whole() -> None:
    reported = Reported()
    reported.add("ada", 1, ["one"])
    reported.add("ada", 1, ["two"])
    assert reported.revoke("ada", 1)
    assert not reported.has("ada", "one")
    assert not reported.has("ada", "two")


def test_an_answer_that_is_read_after_all_has_told_what_it_contains_until_it_is_lost_again() -> None:
    reported = Reported()
    reported.add("ada", 1, ["one"])
    for _ in range(2):
        assert reported.revoke("ada", 1)
        reported.restore("bob", 1)
        reported.restore("ada", 2)
        assert not reported.has("ada", "one")
        reported.restore("ada", 1)
        assert reported.has("ada", "one")


def test_an_answer_that_no_one_reads_takes_nothing_back_that_another_one_has_told() -> None:
    reported = Reported()
    reported.add("ada", 2, ["one"])
    reported.add("ada", 1, ["one", "two"], is_read=False)
    assert not reported.revoke("ada", 1)
    assert [reported.has("ada", key) for key in ("one", "two")] == [True, False]
    reported.restore("ada", 1)
    assert reported.has("ada", "two")


def test_a_question_that_came_back_without_an_answer_is_news_again() -> None:
    reported = Reported()
    reported.add("ada", 1, ["turn/question-1", "turn"])
    reported.forget("ada", ["turn/question-1"])
    reported.forget("bob", ["turn/question-1"])
    assert not reported.has("ada", "turn/question-1")
    assert reported.has("ada", "turn")


def test_beyond_its_limits_the_oldest_is_forgotten() -> None:
    reported = Reported(max_callers=2, max_keys=3, max_requests=1)
    for caller in ("ada", "bob", "ada", "eve"):
        reported.add(caller, 1, [f"news of {caller}"])
    assert [reported.has(caller, f"news of {caller}") for caller in ("ada", "bob", "eve")] == [True, False, True]
    for number in range(4):
        reported.add("eve", number, [str(number)])
    assert [reported.has("eve", str(number)) for number in range(4)] == [False, True, True, True]
    assert not reported.revoke("eve", 2)
    assert reported.revoke("eve", 3)


CALLERS = ("ada", "bob")

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("happens"), st.sampled_from(KINDS), st.just(0)),
        st.tuples(st.just("runs"), st.booleans(), st.just(0)),
        st.tuples(st.just("waits"), st.sampled_from(CALLERS), st.sampled_from(list(WaitMode))),
        st.tuples(st.just("loses"), st.sampled_from(CALLERS), st.integers(0, 20)),
    ),
    max_size=60,
)


class World:
    """Agents to which things happen, and callers that wait for them. An answer may be lost on its way."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.runs = True
        self.reported = Reported()
        self.answers: dict[str, list[tuple[int, list[str]]]] = {caller: [] for caller in CALLERS}
        self._requests = itertools.count()

    def wait(self, caller: str, mode: WaitMode) -> bool:
        """One look of a wait. True: it was answered."""
        fresh = [news for news in self.news if not self.reported.has(caller, news.key)]
        if verdict(fresh, mode, runs=self.runs) is not WaitVerdict.REPORT:
            return False
        request, keys = next(self._requests), [news.key for news in fresh]
        self.reported.add(caller, request, keys)
        self.answers[caller].append((request, keys))
        return True

    def lose(self, caller: str, index: int) -> None:
        """An answer does not reach the caller: it cancelled, its connection was cut."""
        if index < len(self.answers[caller]):
            request, _keys = self.answers[caller].pop(index)
            self.reported.revoke(caller, request)


@given(STEPS)
def test_each_caller_hears_every_piece_of_news_once_whatever_happens_in_whatever_order(
    steps: list[tuple[str, object, object]],
) -> None:
    world = World()
    for step, what, more in steps:
        match step, what, more:
            case "happens", NewsKind() as kind, _:
                world.news.append(News(kind, f"news {len(world.news)}"))
            case "runs", bool(runs), _:
                world.runs = runs
            case "waits", str(caller), WaitMode() as mode:
                world.wait(caller, mode)
            case "loses", str(caller), int(index):
                world.lose(caller, index)
    for caller in CALLERS:
        world.wait(caller, WaitMode.FIRST)
        heard = Counter(key for _request, keys in world.answers[caller] for key in keys)
        assert heard == Counter(news.key for news in world.news)
        assert not world.wait(caller, WaitMode.FIRST), "and then a tight loop gets no answer"
