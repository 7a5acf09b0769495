"""A relay that does what it likes, in ten thousand seeded rounds on a clock of its own.

Two streams run through it at once. Whatever it does, each side receives a prefix of what the other side sent, and no
stream waits forever. If it only loses, doubles, delays, reorders and cuts, everything arrives.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest
from msgspec.structs import replace

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Ack, Body, Data, Frame, Reset, Resume, decode, encode
from codex_mcp.relay.stream import RelayStream
from tests.support.relay import paired_ciphers

ROUNDS: Final = 10_000
PARTS: Final = 20
"""The rounds are divided, so that two processors can share them."""

LONG: Final = 120_000
"""Longer than a record."""

TOO_LONG: Final = 600.0
"""Seconds on the round's clock after which a stream hangs."""

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
        self.ends: list[End] = []
        for name in ("a", "b"):
            for ciphers in paired_ciphers(b"%d%s" % (seed, name.encode())):
                messages = [self._message() for _ in range(self.chance.randint(0, 4))]
                self.ends.append(End(RelayStream(name, ciphers), messages))
        for number, end in enumerate(self.ends):
            self.work(number ^ 1, lambda stream, end=end: self.greet(stream, end.stream.greeting()))  # type: ignore[misc]

    def greet(self, stream: RelayStream, greeting: bytes) -> Sequence[bytes]:
        """A greeting that is lost together with the first message costs the stream, not a message: see `cut`."""
        if self.is_malicious:
            return [greeting]
        return stream.frame_received(decode(greeting), self.now).frames

    def _message(self) -> bytes:
        return self.chance.randbytes(LONG if self.chance.random() < 0.03 else self.chance.randint(1, 60))

    def carry(self, sender: int, frames: Sequence[bytes]) -> None:
        for frame in frames:
            self.seen.append(frame)
            if self.faults and self.chance.random() < 0.25:
                self.faults -= 1
                self.chance.choice(MALICE if self.is_malicious else MISHAPS)(self, sender, frame)
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
        while not self.is_over():
            self.step()
            assert self.now < TOO_LONG, "a stream hangs"

    def step(self) -> None:
        due = [(end.stream.next_due, number) for number, end in enumerate(self.ends) if not end.failed]
        times = [(time, number) for time, number in due if time is not None]
        first = min(self.carried, default=None)
        if first is not None and (not times or first.at <= min(times)[0]):
            self.carried.remove(first)
            self.now = max(self.now, first.at)
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


MISHAPS: Final[Sequence[Fault]] = (drop, double, delay, cut)
MALICE: Final[Sequence[Fault]] = (*MISHAPS, echo, replay, swap, inject, flip)


@pytest.mark.parametrize("part", range(PARTS))
def test_never_a_wrong_byte_and_never_a_hang(part: int) -> None:
    for seed in range(part * ROUNDS // PARTS, (part + 1) * ROUNDS // PARTS):
        round_ = Round(seed, is_malicious=seed % 2 == 1)
        round_.run()
        for number, end in enumerate(round_.ends):
            wanted = round_.ends[number ^ 1].to_send
            assert end.received == wanted[: len(end.received)], f"round {seed}: a wrong message"
            if not round_.is_malicious:
                assert end.received == wanted, f"round {seed}: a message was lost"
