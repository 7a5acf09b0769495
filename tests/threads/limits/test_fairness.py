"""Whose work begins next: any order of asking, starting, ending and giving up, by any number of principals."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from codex_mcp.threads.limits.fairness import FairQueue

STARTS, RUNNING_EACH = 2, 3
PRINCIPALS = st.sampled_from(["ada", "bob", "eve"])


def test_a_free_place_is_given_at_once_and_the_next_when_it_is_free_again() -> None:
    queue: FairQueue[int] = FairQueue(1, 10)
    assert queue.ask("ada", 1, opens=False) == [1]
    assert queue.ask("ada", 2, opens=False) == []
    assert queue.waiting("ada") == 1
    assert queue.started(1) == [2]
    assert queue.ask("ada", 3, opens=False) == []
    assert queue.ended(2) == [3]
    assert (queue.ended(3), queue.ended(3), queue.waiting("ada")) == ([], [], 0)


def test_a_principal_with_one_call_waits_for_one_of_another_that_has_hundreds() -> None:
    queue: FairQueue[str] = FairQueue(1, 1000)
    for number in range(400):
        queue.ask("ada", f"ada-{number}", opens=False)
    queue.ask("bob", "bob-0", opens=False)
    assert queue.ended("ada-0") == ["ada-1"], "she was asked before he came"
    assert queue.ended("ada-1") == ["bob-0"]
    assert queue.ended("bob-0") == ["ada-2"]


def test_turns_and_openings_of_one_principal_alternate() -> None:
    queue: FairQueue[str] = FairQueue(1, 1000)
    queue.ask("ada", "first", opens=True)
    for number in range(2):
        queue.ask("ada", f"open-{number}", opens=True)
    for number in range(2):
        queue.ask("ada", f"turn-{number}", opens=False)
    order = ["first"]
    while served := queue.ended(order[-1]):
        order += served
    assert order == ["first", "turn-0", "open-0", "turn-1", "open-1"]


def test_at_its_limit_of_running_turns_a_principal_still_opens_threads_and_others_run_on() -> None:
    queue: FairQueue[str] = FairQueue(10, 1)
    assert queue.ask("ada", "runs", opens=False) == ["runs"]
    assert queue.started("runs") == []
    assert queue.ask("ada", "waits", opens=False) == []
    assert queue.ask("ada", "opens", opens=True) == ["opens"]
    assert queue.ask("bob", "another", opens=False) == ["another"]
    assert queue.ended("opens") == []
    assert queue.ended("runs") == ["waits"]


def test_what_is_given_up_while_it_waits_is_never_served() -> None:
    queue: FairQueue[int] = FairQueue(1, 10)
    for key in range(4):
        queue.ask("ada", key, opens=key % 2 == 0)
    assert queue.ended(1) == []
    assert queue.ended(0) == [3]
    assert queue.ended(3) == [2]


@given(st.lists(st.tuples(PRINCIPALS, st.booleans()), min_size=1, max_size=60), st.integers(1, 4))
def test_no_principal_is_served_twice_while_another_waits_from_before(
    asked: list[tuple[str, bool]], starts: int
) -> None:
    queue: FairQueue[int] = FairQueue(starts, 1000)
    served = [key for number, (who, opens) in enumerate(asked) for key in queue.ask(who, number, opens=opens)]
    order = list(served)
    while served:
        fresh = queue.ended(served.pop(0))
        served += fresh
        order += fresh
    assert sorted(order) == list(range(len(asked)))
    queued = order[starts:]
    for index, key in enumerate(queued[:-1]):
        who = asked[key][0]
        again = next((at for at, later in enumerate(queued[index + 1 :], index + 1) if asked[later][0] == who), None)
        if again is not None:
            others = {asked[each][0] for each in queued[again:]} - {who}
            assert others <= {asked[each][0] for each in queued[index + 1 : again]}


class AnyLife(RuleBasedStateMachine):
    """Every order of events; the model counts what the queue may not break."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: FairQueue[int] = FairQueue(STARTS, RUNNING_EACH)
        self.asked: dict[int, tuple[str, bool]] = {}
        self.waiting: list[int] = []
        self.starting: list[int] = []
        self.running: list[int] = []

    def served(self, keys: list[int]) -> None:
        for key in keys:
            same = [each for each in self.waiting if self.asked[each] == self.asked[key]]
            assert same[0] == key, "in the order in which they came"
            self.waiting.remove(key)
            self.starting.append(key)

    @rule(who=PRINCIPALS, opens=st.booleans())
    def ask(self, who: str, opens: bool) -> None:  # noqa: FBT001  hypothesis calls it
        key = len(self.asked)
        self.asked[key] = (who, opens)
        self.waiting.append(key)
        self.served(self.queue.ask(who, key, opens=opens))

    @precondition(lambda self: any(not self.asked[key][1] for key in self.starting))
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([key for key in self.starting if not self.asked[key][1]]))
        self.starting.remove(key)
        self.running.append(key)
        self.served(self.queue.started(key))

    @precondition(lambda self: self.waiting or self.starting or self.running)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.waiting + self.starting + self.running))
        for place in (self.waiting, self.starting, self.running):
            if key in place:
                place.remove(key)
        self.served(self.queue.ended(key))

    @invariant()
    def keeps_its_limits_and_leaves_no_place_free_that_somebody_waits_for(self) -> None:
        turns: dict[str, int] = defaultdict(int)
        for key in self.starting + self.running:
            turns[self.asked[key][0]] += not self.asked[key][1]
        assert len(self.starting) <= STARTS
        assert all(count <= RUNNING_EACH for count in turns.values())
        if len(self.starting) < STARTS:
            for key in self.waiting:
                who, opens = self.asked[key]
                assert not opens
                assert turns[who] == RUNNING_EACH
        for who in ("ada", "bob", "eve"):
            assert self.queue.waiting(who) == sum(self.asked[key][0] == who for key in self.waiting)


TestAnyLife = AnyLife.TestCase
