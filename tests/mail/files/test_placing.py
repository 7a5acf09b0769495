"""Random schedules of our steps and of those of programs without locks, on a model of one path.

Whatever other programs read and write is compared with the same schedule without us. A file is a string of records, one
character each: ours are digits.
"""

from collections.abc import Callable, Generator, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_mcp.mail.files.placing import MOST_ROUNDS, placing


class Inode:
    """One file. Nobody can open it while it is leased."""

    def __init__(self, content: bytes, *, is_leased: bool = False) -> None:
        self.content = content
        self.is_leased = is_leased
        self.writers = 0


class World:
    """The path, and in which order the steps of other programs took effect."""

    def __init__(self) -> None:
        self.path = Inode(b"A")
        self.order: list[int] = []
        self.last_exchange = 0
        self.waiting: dict[int, Inode] = {}
        self.seen: dict[int, list[bytes]] = {}
        self.has_missed = False
        """Whether a program waited to write into a version of ours that is displaced by now."""

    def put(self, content: bytes) -> tuple[Inode, Inode]:
        """Exchange a leased version of ours for the file; return both."""
        ours, displaced = Inode(content, is_leased=True), self.path
        self.path = ours
        self.last_exchange = len(self.order)
        return ours, displaced

    def release(self, inode: Inode, content: bytes | None = None) -> None:
        """Those who wait for it opened the file when it was last exchanged, or, with other contents, now."""
        inode.is_leased = False
        place = self.last_exchange if content is None else len(self.order)
        inode.content = inode.content if content is None else content
        for number in [number for number, wanted in self.waiting.items() if wanted is inode]:
            self.order.insert(place, number)


Foreign = Callable[[World, int], Iterator[None]]


def opened(world: World, number: int) -> Generator[None, None, Inode]:
    """Open the file to read it; one that is leased is waited for, even if it is no longer the file then."""
    inode = world.path
    if inode.is_leased:
        world.waiting[number] = inode
    yield
    world.waiting.pop(number, None)
    return inode


def emptied(world: World, number: int) -> Generator[None, None, Inode]:
    """Open the file to write it anew."""
    inode = world.path
    if inode.is_leased:
        world.waiting[number] = inode
        yield
        del world.waiting[number]
        world.has_missed |= inode is not world.path
    inode.writers += 1
    inode.content = b""
    yield
    return inode


def letter(number: int, message: int) -> bytes:
    return bytes([ord("a") + 3 * number + message])


def renaming(world: World, number: int) -> Iterator[None]:
    """Read, and rename a new file over the old one."""
    for message in range(3):
        content = (yield from opened(world, number)).content
        yield
        world.path = Inode(content + letter(number, message))
        yield


def consuming(world: World, number: int) -> Iterator[None]:
    """Read, and leave nothing. What was read is remembered."""
    for _ in range(3):
        content = (yield from opened(world, number)).content
        yield
        world.path = Inode(b"")
        world.seen.setdefault(number, []).append(without_ours(content))
        yield


def in_place(world: World, number: int) -> Iterator[None]:
    """Read, and write into the file itself."""
    for message in range(3):
        content = (yield from opened(world, number)).content
        yield
        inode = yield from emptied(world, number)
        inode.content = content + letter(number, message)
        yield
        inode.writers -= 1
        yield


def sending(world: World) -> Iterator[None]:
    """Our writer: three messages, each as `exchange` writes it."""
    for message in (b"1", b"2", b"3"):
        while not (yield from _has_sent(world, message)):
            pass


def _has_sent(world: World, message: bytes) -> Generator[None, None, bool]:
    inode, base = world.path, world.path.content
    yield
    if world.path is not inode or inode.content != base:
        return False
    yield
    steps = placing(base + message, base, lambda data: data + message)
    ours, displaced = world.put(next(steps))
    versions = [ours]
    while True:
        yield
        while displaced.writers:
            yield
        try:
            new = steps.send(displaced.content)
        except StopIteration as stop:
            is_done: bool = stop.value
            break
        yield
        ours, displaced = world.put(new)
        versions.append(ours)
    for version in [one for one in versions if one is world.path]:
        world.release(version)
    yield
    for version in [one for one in versions if one.is_leased]:
        world.release(version, world.path.content if len(versions) > 1 else None)
    return is_done


def without_ours(content: bytes) -> bytes:
    return bytes(record for record in content if not chr(record).isdigit())


def with_us(kinds: list[Foreign], schedule: list[int]) -> World:
    """Run all of them as this schedule says, and then in turn until all have ended."""
    world = World()
    running: dict[int, Iterator[None]] = {number: kind(world, number) for number, kind in enumerate(kinds)}
    running[-1] = sending(world)
    choices = iter(schedule)
    turn = 0
    while running:
        free = [number for number in running if not is_waiting(world, number)]
        turn += 1
        number = free[next(choices, turn) % len(free)]
        if next(running[number], "ended") == "ended":
            del running[number]
        if number >= 0 and not is_waiting(world, number):  # otherwise it has not opened the file yet
            world.order.append(number)
    return world


def is_waiting(world: World, number: int) -> bool:
    return number in world.waiting and world.waiting[number].is_leased


def without_us(kinds: list[Foreign], order: list[int]) -> World:
    """Run the others alone, in the order in which their steps took effect."""
    world = World()
    running = [kind(world, number) for number, kind in enumerate(kinds)]
    for number in order:
        next(running[number], None)
    return world


SCHEDULES = st.lists(st.integers(0, 11), max_size=120)


@settings(max_examples=400)
@given(st.lists(st.sampled_from([renaming, consuming]), min_size=1, max_size=4), SCHEDULES)
def test_other_programs_read_and_leave_what_they_would_without_us(kinds: list[Foreign], schedule: list[int]) -> None:
    ran = with_us(kinds, schedule)
    alone = without_us(kinds, ran.order)
    assert without_ours(ran.path.content) == alone.path.content
    assert ran.seen == alone.seen


@settings(max_examples=400)
@given(SCHEDULES)
def test_a_program_that_writes_into_the_file_loses_nothing_but_in_the_documented_case(schedule: list[int]) -> None:
    world = with_us([in_place], schedule)
    assert world.has_missed or without_ours(world.path.content) == b"Aabc"


@settings(max_examples=400)
@given(SCHEDULES)
def test_a_program_alone_with_us_loses_nothing(schedule: list[int]) -> None:
    assert without_ours(with_us([renaming], schedule).path.content) == b"Aabc"


@pytest.mark.parametrize(
    ("displaced", "placed", "is_changed"),
    [
        ([b"base"], [b"new"], True),
        ([b"x", b"new"], [b"new", b"x+"], True),
        ([b"x", b"y", b"x+"], [b"new", b"x+", b"y+"], True),
        ([b"x", b"base", b"x+"], [b"new", b"x+", b"base+"], True),
    ],
)
def test_each_case_of_the_table(*, displaced: list[bytes], placed: list[bytes], is_changed: bool) -> None:
    steps = placing(b"new", b"base", lambda data: data + b"+")
    found = [next(steps)]
    *earlier, last = displaced
    found += [steps.send(one) for one in earlier]
    with pytest.raises(StopIteration) as stop:
        steps.send(last)
    assert (found, stop.value.value) == (placed, is_changed)


def test_after_too_many_rounds_the_last_version_of_another_program_goes_back() -> None:
    steps = placing(b"new", b"base", lambda data: data + b"+")
    found = [next(steps)]
    found += [steps.send(b"%d" % number) for number in range(MOST_ROUNDS - 1)]
    with pytest.raises(StopIteration) as stop:
        steps.send(b"last")
    assert len(found) == MOST_ROUNDS
    assert found[-1] == b"%d" % (MOST_ROUNDS - 2)
    assert stop.value.value is False
