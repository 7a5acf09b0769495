"""A rendezvous alone: how many bytes it passes on, what that costs, and the memory of a stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks.http_children import raise_file_limit
from benchmarks.memory import can_be_measured, cpu_milliseconds, memory_of
from benchmarks.place import Place
from benchmarks.relay_load import BURST, RawEnd, bare_rate, begin, executor, full_frame, harness, rate
from benchmarks.remote import a_rendezvous
from benchmarks.rows import Aim, Row, Unit
from codex_mcp.relay.identity import new_keys
from codex_mcp.relay.records import SEALED_BYTES
from codex_mcp.relay.registry_client import RegistryClient

ROUNDS = 8
SECONDS = 20.0

STREAMS = 4
BURSTS = 64
"""Of each stream: 128 MiB together."""

EXECUTORS = 8
MANY = 1_000
QUICK_MANY = 200
WARM_UP = 40
"""Streams before the first look at the memory."""

KIB_PER_MIB = 1024

PRINCIPALS = {f"load-{number}": f"the-token-of-load-{number}" for number in range(EXECUTORS)}
"""One for each executor: a principal may ask the registry 200 times per second."""


def run(place: Place) -> list[Row]:
    """The bytes in several rounds with one rendezvous, the memory once with another."""
    bare: list[float] = []
    passed: list[float] = []
    work: list[float] = []
    with a_rendezvous(place, PRINCIPALS) as (url, pid), _streams(url, STREAMS, 1) as (executors, harnesses):
        names = [f"stream-{number}" for number in range(STREAMS)]
        sockets = [each.socket for each in harnesses]
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            bare.append(bare_rate(BURSTS * STREAMS))
            before = cpu_milliseconds(pid)
            passed.append(rate(executors[0].socket, sockets, names, BURSTS))
            work.append((cpu_milliseconds(pid) - before) * 1e6 / (SEALED_BYTES * BURST * BURSTS * STREAMS))
    rows = [
        Row(
            "rendezvous: frames passed on; theirs: one TCP connection (more is better)",
            Unit.MEGABYTES_PER_SECOND,
            bare,
            passed,
            Aim(at_least=400),
        ),
        Row("… processor time per megabyte", Unit.MILLISECONDS, (), work),
    ]
    return [*rows, *_memory(place)] if can_be_measured() else rows


def _memory(place: Place) -> list[Row]:
    raise_file_limit()
    count = QUICK_MANY if place.effort.is_quick else MANY
    with a_rendezvous(place, PRINCIPALS) as (url, pid), _streams(url, WARM_UP, EXECUTORS):
        before = memory_of([pid])
        with _streams(url, count, EXECUTORS, "more"):
            after = memory_of([pid])
    size = (after.pss - before.pss) * KIB_PER_MIB / count
    return [Row(f"rendezvous: memory of a stream, of {count:,}", Unit.KIBIBYTES, (), [size], Aim(at_most=40))]


@contextlib.contextmanager
def _streams(url: str, count: int, executors: int, name: str = "stream") -> Iterator[tuple[list[RawEnd], list[RawEnd]]]:
    """Executors, and harnesses with a stream each through which a frame has gone in both directions."""
    keys = new_keys().public
    registries = [RegistryClient(url, token) for token in list(PRINCIPALS.values())[:executors]]
    with contextlib.ExitStack() as stack:
        ours: list[RawEnd] = []
        for number, registry in enumerate(registries):
            ours.append(executor(registry, f"{name}-executor-{number}", keys))
            stack.callback(ours[-1].close)
        theirs: list[RawEnd] = []
        for number in range(count):
            which = number % executors
            theirs.append(harness(registries[which], f"{name}-executor-{which}", keys))
            stack.callback(theirs[-1].close)
            begin(theirs[-1], ours[which], f"{name}-{number}")
            ours[which].send(frame := full_frame(f"{name}-{number}"))
            theirs[-1].skip(frame)
        yield ours, theirs
