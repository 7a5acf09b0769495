"""The queue of a thread's turns: any order of everything that can happen."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from codex_mcp.codex.core import When
from codex_mcp.threads.turn_queue import (
    JOINED,
    Action,
    Conclude,
    Interrupt,
    Leave,
    QueueFull,
    QueuePlace,
    QueueShut,
    Remind,
    Return,
    Share,
    Source,
    Start,
    Steer,
    TurnQueue,
    TurnQueueState,
)

MAX_WAITING = 3


class Life(RuleBasedStateMachine):
    """Callers, the core and the clock do what they like, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = TurnQueue(MAX_WAITING)
        self.offered: list[QueuePlace] = []
        self.begun: list[QueuePlace] = []
        self.concluded: list[QueuePlace] = []
        self.left: list[QueuePlace] = []
        self.interrupted: list[QueuePlace] = []
        self.hosts: dict[QueuePlace, QueuePlace] = {}
        self.said: set[QueuePlace] = set()
        self.ids = 0

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Start(place):
                    self.begun.append(place)
                case Interrupt(place):
                    assert place.turn_id
                    assert (place in self.concluded) == (place.state is TurnQueueState.ABANDONED)
                    self.interrupted.append(place)
                case Steer(place, host):
                    assert host is self.queue.current
                    assert host.state is TurnQueueState.RUNNING
                    assert place not in self.hosts
                    self.hosts[place] = host
                case Share(place, host):
                    assert host in self.concluded
                    assert place in self.said
                    self.concluded.append(place)
                case Return(place, said):
                    assert place.is_urgent
                    assert said == (place in self.said)
                case Remind(place):
                    assert place.state is TurnQueueState.STOPPING
                case Conclude(place):
                    self.concluded.append(place)
                case Leave(place):
                    assert place in self.concluded
                    self.left.append(place)

    def any_place(self, data: st.DataObject) -> QueuePlace:
        return data.draw(st.sampled_from(self.offered))

    def joined(self) -> list[QueuePlace]:
        return [place for place in self.offered if place.state in JOINED]

    @rule(source=st.sampled_from(Source), when=st.sampled_from(When))
    def offer(self, source: Source, when: When) -> None:
        place = QueuePlace(source)
        try:
            actions = self.queue.offer(place, when)
        except QueueFull:
            assert self.queue.waiting + len(self.joined()) >= MAX_WAITING
            return
        except QueueShut:
            assert self.queue._shut
            return
        self.offered.append(place)
        self.perform(actions)

    def current_id(self) -> str:
        assert self.queue.current is not None
        self.ids += 1
        return self.queue.current.turn_id or f"turn {self.ids}"

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def accept(self) -> None:
        assert self.queue.current is not None
        assert self.queue.accepted(self.current_id(), self.queue.current)

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def start(self) -> None:
        self.perform(self.queue.started(self.current_id()))

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def end(self) -> None:
        current = self.queue.current
        assert current is not None
        self.perform(self.queue.ended(self.current_id()))
        assert current in self.concluded
        assert current.state is TurnQueueState.ENDED

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def end_interrupted(self) -> None:
        self.perform(self.queue.ended(self.current_id(), completed=False))

    @precondition(lambda self: self.hosts)
    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        self.perform(self.queue.refused(data.draw(st.sampled_from(list(self.hosts)))))

    @precondition(lambda self: self.hosts)
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(list(self.hosts)))
        self.queue.recorded(place)
        if place.state is TurnQueueState.RECORDED:
            self.said.add(place)

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def go_on(self) -> None:
        self.queue.model_went_on(self.current_id())

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.perform(self.queue.cancel(self.any_place(data)))

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def be_overdue(self, data: st.DataObject) -> None:
        self.perform(self.queue.overdue(self.any_place(data)))

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def fail_or_give_up(self, data: st.DataObject) -> None:
        place = self.any_place(data)
        self.perform(data.draw(st.sampled_from([self.queue.start_failed, self.queue.given_up]))(place))

    def past(self) -> list[QueuePlace]:
        return [place for place in self.offered if place.state is TurnQueueState.ENDED and place.turn_id]

    @precondition(lambda self: self.past())
    @rule(data=st.data())
    def hear_late_news(self, data: st.DataObject) -> None:
        late = data.draw(st.sampled_from(self.past()))
        before = repr(self.queue), [place.state for place in self.offered]
        assert [self.queue.started(late.turn_id), self.queue.ended(late.turn_id)] == [[], []]
        assert self.queue.accepted(late.turn_id, late)
        assert (repr(self.queue), [place.state for place in self.offered]) == before

    @rule()
    def shut(self) -> None:
        self.perform(self.queue.shut())
        assert self.queue.waiting == 0

    @rule()
    def open(self) -> None:
        self.queue.open()

    @rule()
    def lose(self) -> None:
        self.perform(self.queue.lost())
        assert self.queue.idle

    @invariant()
    def one_turn_at_a_time_in_the_order_of_their_coming(self) -> None:
        living = [place for place in self.begun if place.state is not TurnQueueState.ENDED]
        assert living == ([] if self.queue.current is None else [self.queue.current])
        assert len(self.begun) == len(set(self.begun))
        for source in Source:
            begun = [place for place in self.begun if place.source is source and not place.is_urgent]
            assert begun == [place for place in self.offered if place in begun]

    @invariant()
    def no_mail_begins_while_a_caller_waits_and_neither_while_one_is_urgent(self) -> None:
        current = self.queue.current
        if current is not None and not current.is_said:
            since = self.offered.index(current)
            waiting = [place for place in self.offered[:since] if place.state is TurnQueueState.WAITING]
            assert current.source is Source.CALLER or all(place.source is Source.MAIL for place in waiting)

    @invariant()
    def a_prompt_steers_only_the_turn_that_runs(self) -> None:
        assert all(self.queue.current is self.hosts.get(place, self.queue.current) for place in self.joined())
        assert bool(self.queue.joined) == bool(self.joined())
        assert not (self.joined() and self.queue.idle)

    @invariant()
    def each_is_concluded_once_and_interrupted_at_most_once(self) -> None:
        assert len(self.concluded) == len(set(self.concluded))
        over = (TurnQueueState.ABANDONED, TurnQueueState.ENDED)
        assert set(self.concluded) == {place for place in self.offered if place.state in over}
        assert len(self.left) == len(set(self.left))
        assert len(self.interrupted) == len(set(self.interrupted))
        assert all(place.interrupt_sent for place in self.interrupted)

    @invariant()
    def nobody_is_forgotten(self) -> None:
        waiting = [place for place in self.offered if place.state is TurnQueueState.WAITING]
        assert len(waiting) == self.queue.waiting <= MAX_WAITING
        assert not (waiting and self.queue.idle)


test_any_life_of_a_queue = Life.TestCase
test_any_life_of_a_queue.settings = settings(deadline=None, max_examples=60, stateful_step_count=40)
