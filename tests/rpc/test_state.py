"""Open requests in both directions: nothing is answered twice, and nobody is forgotten."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from codex_mcp.rpc.state import Acceptance, OpenCalls
from codex_mcp.wire.jsonrpc import Id

MAX_THEIRS = 3


def test_our_requests_have_ids_of_their_own_and_are_settled_once() -> None:
    calls = OpenCalls(MAX_THEIRS)
    first, second = calls.open(), calls.open()
    assert first != second
    assert [calls.settle(second), calls.settle(second), calls.settle(first)] == [True, False, True]


def test_an_answer_to_nothing_settles_nothing() -> None:
    calls = OpenCalls(MAX_THEIRS)
    opened = calls.open()
    assert [calls.settle(None), calls.settle(str(opened)), calls.settle(opened + 1)] == [False, False, False]


def test_an_id_is_a_duplicate_until_it_is_answered() -> None:
    calls = OpenCalls(MAX_THEIRS)
    assert [calls.accept(1), calls.accept(1), calls.accept("1")] == [
        Acceptance.ACCEPTED,
        Acceptance.DUPLICATE,
        Acceptance.ACCEPTED,
    ]
    assert [calls.answered(1), calls.answered(1), calls.accept(1)] == [True, False, Acceptance.ACCEPTED]


def test_no_more_requests_run_than_may() -> None:
    calls = OpenCalls(1)
    assert [calls.accept(1), calls.accept(2)] == [Acceptance.ACCEPTED, Acceptance.TOO_MANY]
    calls.answered(1)
    assert calls.accept(2) is Acceptance.ACCEPTED


def test_who_stops_accepting_may_still_ask_and_answer() -> None:
    calls = OpenCalls(MAX_THEIRS)
    calls.accept(1)
    calls.stop_accepting()
    assert calls.accept(2) is Acceptance.CLOSING
    assert calls.answered(1)
    assert not calls.closed
    assert calls.settle(calls.open())


def test_at_the_end_we_learn_who_waits_in_vain_once() -> None:
    calls = OpenCalls(MAX_THEIRS)
    calls.accept("theirs")
    waiting = [calls.open(), calls.open()]
    assert [calls.close(), calls.close()] == [waiting, []]
    assert calls.closed
    assert calls.accept(5) is Acceptance.CLOSING
    assert calls.answered("theirs")


def test_it_shows_how_much_is_open() -> None:
    calls = OpenCalls(MAX_THEIRS)
    calls.open()
    assert repr(calls) == "<OpenCalls: 1 ours, 0 theirs>"
    calls.stop_accepting()
    assert repr(calls) == "<OpenCalls: 1 ours, 0 theirs, closing>"


class Conversation(RuleBasedStateMachine):
    """Any order of everything that can happen on a connection."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = OpenCalls(MAX_THEIRS)
        self.ours: set[int] = set()
        self.theirs: set[Id] = set()
        self.used: set[int] = set()

    @rule()
    def ask(self) -> None:
        number = self.calls.open()
        assert number not in self.used
        self.used.add(number)
        self.ours.add(number)

    @rule(number=st.integers(-1, 6) | st.sampled_from(["0", None]))
    def hear_answer(self, number: Id | None) -> None:
        assert self.calls.settle(number) == (number in self.ours)
        self.ours.discard(number if isinstance(number, int) else -1)

    @rule(number=st.integers(0, 4) | st.sampled_from(["0", "1"]))
    def hear_request(self, number: Id) -> None:
        verdict = self.calls.accept(number)
        assert (verdict is Acceptance.ACCEPTED) == (
            not self.calls.closing and number not in self.theirs and len(self.theirs) < MAX_THEIRS
        )
        if verdict is Acceptance.ACCEPTED:
            self.theirs.add(number)

    @rule(number=st.integers(0, 4) | st.sampled_from(["0", "1"]))
    def answer(self, number: Id) -> None:
        assert self.calls.answered(number) == (number in self.theirs)
        self.theirs.discard(number)

    @rule()
    def stop_accepting(self) -> None:
        self.calls.stop_accepting()

    @rule()
    def close(self) -> None:
        assert self.calls.close() == sorted(self.ours)
        self.ours.clear()

    @invariant()
    def it_counts_right(self) -> None:
        assert f"{len(self.ours)} ours, {len(self.theirs)} theirs" in repr(self.calls)


test_any_conversation_keeps_its_books = Conversation.TestCase
test_any_conversation_keeps_its_books.settings = settings(deadline=None)
