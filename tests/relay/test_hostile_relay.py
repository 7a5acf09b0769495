"""A relay that does what it likes, in ten thousand seeded rounds on a clock of its own.

Two streams run through it at once. Whatever it does, each side receives a prefix of what the other side sent, and no
stream waits forever. If it only loses, doubles, delays, reorders and cuts, everything arrives. A handshake that it
changes, or for which the registry gave out another executor's keys, opens no stream.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest
from msgspec.structs import replace

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Ack, Body, Data, Frame, Reset, Resume, decode, encode
from codex_mcp.relay.handshake import Initiator, Place, Responder
from codex_mcp.relay.keys import PublicKeys, encapsulate
from codex_mcp.relay.retention import GAP_RETRY
from codex_mcp.relay.stream import RelayStream
from tests.support.relay import fresh_for, paired_ciphers, private_keys

ROUNDS: Final = 10_000
PARTS: Final = 20
"""The rounds are divided, so that two processors can share them."""

LONG: Final = 120_000
"""Longer than a record."""

TOO_LONG: Final = 600.0
"""Seconds on the round's clock after which a stream hangs."""

TOO_MANY: Final = 10_000
"""Frames and timers of a round, which has some hundreds at most."""

HANDSHAKE_CHANCE: Final = 0.1
"""Of a malicious relay to begin with the handshake of a stream."""

RECONNECT_SECONDS: Final = 2 * GAP_RETRY
"""Until a connection that was cut is replaced. The other end does not repeat what it sent just before that."""

QUESTION_SECONDS: Final = 60.0
"""A harness whose question is not answered in this time takes its connection for lost."""


@dataclass
class End:
    """One end of one stream."""

    stream: RelayStream
    to_send: list[bytes]
    sent: list[bytes] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)
    failed: bool = False


@dataclass(order=True)
class Carried:
    at: float
    number: int
    to: int = field(compare=False)
    frame: bytes = field(compare=False)


class Round:
    """Ends 0 and 1 are one stream, 2 and 3 the other; an end's peer is `end ^ 1`, the harnesses are even."""

    def __init__(self, seed: int, *, is_malicious: bool) -> None:
        self.chance = random.Random(seed)
        self.is_malicious = is_malicious
        self.now = 0.0
        self.carried: list[Carried] = []
        self.seen: list[bytes] = []
        self.faults = self.chance.randint(0, 12)
        self.number = 0
        self.done: Counter[str] = Counter()
        """What the relay did, by its name."""
        self._latest: Counter[int] = Counter()
        self.ends: list[End] = []
        for name in ("a", "b"):
            is_refused = is_malicious and self.chance.random() < HANDSHAKE_CHANCE
            if is_refused:
                self._attack_handshake()
            for ciphers in paired_ciphers(b"%d%s" % (seed, name.encode())):
                messages = [self._message() for _ in range(self.chance.randint(0, 4))]
                self.ends.append(End(RelayStream(name, ciphers), messages, failed=is_refused))
        for number, end in enumerate(self.ends):
            self.work(number ^ 1, lambda stream, end=end: self.greet(stream, end.stream.greeting()))  # type: ignore[misc]

    def greet(self, stream: RelayStream, greeting: bytes) -> Sequence[bytes]:
        """A greeting that is lost together with the first message costs the stream, not a message: see `cut`."""
        if self.is_malicious:
            return [greeting]
        return stream.frame_received(decode(greeting), self.now).frames

    def _attack_handshake(self) -> None:
        attack = self.chance.choice(ATTACKS)
        self.done[attack.__name__] += 1
        with pytest.raises(RelayError):
            attack(self.chance)

    def _message(self) -> bytes:
        return self.chance.randbytes(LONG if self.chance.random() < 0.03 else self.chance.randint(1, 60))

    def carry(self, sender: int, frames: Sequence[bytes]) -> None:
        for frame in frames:
            self.seen.append(frame)
            if self.faults and self.chance.random() < 0.25:
                self.faults -= 1
                fault = self.chance.choice(MALICE if self.is_malicious else MISHAPS)
                self.done[fault.__name__] += 1
                fault(self, sender, frame)
            else:
                self.deliver(sender ^ 1, frame)

    def deliver(self, to: int, frame: bytes, later: float = 0.0) -> None:
        self.number += 1
        self.carried.append(Carried(self.now + 0.001 + later, self.number, to, frame))

    def work(self, number: int, act: Callable[[RelayStream], Sequence[bytes]]) -> None:
        end = self.ends[number]
        if end.failed:
            return
        try:
            frames = act(end.stream)
        except RelayError:
            end.failed = True
            frames = [encode(Frame(end.stream.stream_id, Reset("over")))]
        self.carry(number, frames)

    def arrive(self, carried: Carried) -> None:
        def act(stream: RelayStream) -> Sequence[bytes]:
            try:
                frame = decode(carried.frame)
            except RelayError:
                return []  # what is not a frame is dropped
            if frame.stream_id != stream.stream_id:
                return []
            arrived = stream.frame_received(frame, self.now)
            self.ends[carried.to].received += arrived.messages
            return arrived.frames

        self.work(carried.to, act)

    def run(self) -> None:
        for number, end in enumerate(self.ends):
            for message in end.to_send:
                end.sent.append(message)
                self.work(number, lambda stream, message=message: stream.send(message, self.now))  # type: ignore[misc]
        steps = 0
        while not self.is_over():
            self.step()
            steps += 1
            assert self.now < TOO_LONG, "a stream hangs"
            assert steps < TOO_MANY, "a stream is never done"

    def timers(self) -> list[tuple[float, int]]:
        due = [(end.stream.next_due, number) for number, end in enumerate(self.ends) if not end.failed]
        return [(time, number) for time, number in due if time is not None]

    def step(self) -> None:
        times = self.timers()
        first = min(self.carried, default=None)
        if first is not None and (not times or first.at <= min(times)[0]):
            self.carried.remove(first)
            self.now = max(self.now, first.at)
            self.done[REORDERED] += first.number < self._latest[first.to]
            self._latest[first.to] = max(first.number, self._latest[first.to])
            self.arrive(first)
        elif times:
            time, number = min(times)
            self.now = max(self.now, time)
            self.work(number, lambda stream: stream.due(self.now))
        else:
            self.now += QUESTION_SECONDS
            for end in self.ends[::2]:
                end.failed = True

    def is_over(self) -> bool:
        return all(
            end.failed or self.ends[number ^ 1].failed or end.received == self.ends[number ^ 1].to_send
            for number, end in enumerate(self.ends)
        )

    def forged(self, stream_id: str) -> bytes:
        chance = self.chance
        bodies: list[Body] = [
            Ack(),
            Resume(chance.randint(0, 9)),
            Data(chance.randint(0, 9), chance.randbytes(40)),
            Data(chance.randint(0, 99), chance.randbytes(40), chance.randint(0, 1), 2),
            Reset("forged"),
        ]
        body = chance.choice(bodies)
        return encode(Frame(stream_id, body, chance.randint(0, 5), chance.getrandbits(3)))


Fault = Callable[[Round, int, bytes], None]


def drop(round_: Round, sender: int, frame: bytes) -> None:
    pass


def double(round_: Round, sender: int, frame: bytes) -> None:
    round_.deliver(sender ^ 1, frame)
    round_.deliver(sender ^ 1, frame, round_.chance.random())


def delay(round_: Round, sender: int, frame: bytes) -> None:
    round_.deliver(sender ^ 1, frame, round_.chance.random() * 5)


def cut(round_: Round, sender: int, frame: bytes) -> None:
    """The sender's connection breaks: what is on its way to and from it is lost, and it connects again."""
    round_.carried = [carried for carried in round_.carried if carried.to not in (sender, sender ^ 1)]
    round_.work(sender, lambda stream: stream.resumed(round_.now) if stream.can_resume else stream.due(round_.now))


def echo(round_: Round, sender: int, frame: bytes) -> None:
    round_.deliver(sender ^ 1, frame)
    round_.deliver(sender, frame)


def replay(round_: Round, sender: int, frame: bytes) -> None:
    round_.deliver(sender ^ 1, frame)
    round_.deliver(sender ^ 1, round_.chance.choice(round_.seen))


def swap(round_: Round, sender: int, frame: bytes) -> None:
    """The frame reaches the other stream, under that stream's id."""
    other = round_.ends[sender ^ 2].stream.stream_id
    round_.deliver(sender ^ 3, encode(replace(decode(frame), stream_id=other)))


def inject(round_: Round, sender: int, frame: bytes) -> None:
    round_.deliver(sender ^ 1, round_.forged(decode(frame).stream_id))
    round_.deliver(sender ^ 1, frame)


def flip(round_: Round, sender: int, frame: bytes) -> None:
    changed = bytearray(frame)
    changed[round_.chance.randrange(len(changed))] ^= 1 << round_.chance.randrange(8)
    round_.deliver(sender ^ 1, bytes(changed))


def swap_executor_keys(chance: random.Random) -> None:
    """The registry gives out the relay's own keys; the executor cannot read what was made for these."""
    _answered(_first("mallory", _place(chance))[1], _place(chance))


def swap_places(chance: random.Random) -> None:
    """The first message of one stream is passed on as that of another."""
    place = _place(chance)
    part = chance.choice(["environment_id", "registration_id", "stream_id"])
    _answered(_first("executor", place)[1], replace(place, **{part: "another"}))


def change_first_message(chance: random.Random) -> None:
    place = _place(chance)
    _answered(_flipped(chance, _first("executor", place)[1]), place)


def change_answer(chance: random.Random) -> None:
    place = _place(chance)
    initiator, first = _first("executor", place)
    initiator.finish(_flipped(chance, _answered(first, place)))


def swap_answers(chance: random.Random) -> None:
    """The answer to one handshake is passed on as that to another, of the same harness in the same place."""
    place = _place(chance)
    initiator, _ = _first("executor", place)
    initiator.finish(_answered(_first("executor", place, "another ephemeral")[1], place))


def _place(chance: random.Random) -> Place:
    return Place("env", "registration", f"stream-{chance.getrandbits(32)}")


def _first(executor: str, place: Place, ephemeral: str = "ephemeral") -> tuple[Initiator, bytes]:
    theirs: PublicKeys = private_keys(executor).public
    initiator = Initiator(private_keys("harness"), theirs, place)
    return initiator, initiator.first("token", private_keys(ephemeral), encapsulate(theirs.mlkem))


def _answered(first: bytes, place: Place) -> bytes:
    responder = Responder(private_keys("executor"), place)
    introduction = responder.read(first)
    return responder.answer(fresh_for(responder, introduction.harness.mlkem))[0]


def _flipped(chance: random.Random, message: bytes) -> bytes:
    changed = bytearray(message)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


ATTACKS: Final[Sequence[Callable[[random.Random], None]]] = (
    swap_executor_keys,
    swap_places,
    change_first_message,
    change_answer,
    swap_answers,
)
REORDERED: Final = "reordered"
MISHAPS: Final[Sequence[Fault]] = (drop, double, delay, cut)
MALICE: Final[Sequence[Fault]] = (*MISHAPS, echo, replay, swap, inject, flip)


EVERYTHING: Final = {REORDERED, *(each.__name__ for each in (*MALICE, *ATTACKS))}


@pytest.mark.parametrize("part", range(PARTS))
def test_never_a_wrong_byte_and_never_a_hang(part: int) -> None:
    done: Counter[str] = Counter()
    for seed in range(part * ROUNDS // PARTS, (part + 1) * ROUNDS // PARTS):
        round_ = Round(seed, is_malicious=seed % 2 == 1)
        round_.run()
        done += round_.done
        for number, end in enumerate(round_.ends):
            wanted = round_.ends[number ^ 1].to_send
            assert end.received == wanted[: len(end.received)], f"round {seed}: a wrong message"
            if not round_.is_malicious:
                assert end.received == wanted, f"round {seed}: a message was lost"
    assert done.keys() == EVERYTHING, "each hostility happens in each part"


class CutRound(Round):
    """A relay that only cuts one connection, when it carries a certain frame.

    Timers are held: no frame is repeated because time has passed, only because of the new connection.
    """

    def __init__(self, seed: int, whose: int, at: int) -> None:
        self._whose = whose
        self._at = at
        super().__init__(seed, is_malicious=False)

    def carry(self, sender: int, frames: Sequence[bytes]) -> None:
        self.faults = 0
        for frame in frames:
            self._at -= 1
            super().carry(sender, [frame])
            if self._at == 0:
                self.now += RECONNECT_SECONDS
                cut(self, self._whose, frame)

    def timers(self) -> list[tuple[float, int]]:
        return []

    @property
    def is_cut(self) -> bool:
        return self._at <= 0


@pytest.mark.parametrize("whose", range(4), ids=["harness", "executor", "other harness", "other executor"])
def test_a_connection_that_is_cut_at_any_frame_loses_none(whose: int) -> None:
    cuts = 0
    for seed in range(30):
        at, is_cut = 1, True
        while is_cut:
            round_ = CutRound(seed, whose, at)
            round_.run()
            for number, end in enumerate(round_.ends):
                assert not end.failed, f"seed {seed}, cut at frame {at}: the stream did not survive"
                assert end.received == round_.ends[number ^ 1].to_send, (
                    f"seed {seed}, cut at frame {at}: a message was lost"
                )
            is_cut = round_.is_cut
            cuts += is_cut
            at += 1
    assert cuts > 300
