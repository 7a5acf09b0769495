"""A thousand sessions with an open stream each: the time to open them, and the memory that they take."""

from __future__ import annotations

from benchmarks.grid import GridAim, GridRow
from benchmarks.http_children import (
    FASTMCP_SSE,
    OURS,
    SDK_SSE,
    HttpServer,
    LoadProcess,
    MeasuredServer,
    raise_file_limit,
)
from benchmarks.http_load import Open
from benchmarks.memory import can_be_measured, memory_of
from benchmarks.place import Place
from benchmarks.rows import Unit

ROUNDS = 3
SECONDS = 25.0
SESSIONS = 1_000
QUICK_SESSIONS = 200
WARM_UP = 20
"""Sessions before the first look at the memory: what a server needs once does not count."""

KINDS = (OURS, SDK_SSE, FASTMCP_SSE)
MEMORY_AIM = GridAim(at_most=25)


def run(place: Place) -> list[GridRow]:
    """Start each server anew in every round: none gives memory back."""
    times: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
    sizes: dict[str, list[float]] = {kind.name: [] for kind in KINDS}
    raise_file_limit()
    sessions = QUICK_SESSIONS if place.effort.is_quick else SESSIONS
    for _ in place.effort.rounds(ROUNDS, SECONDS):
        for kind in KINDS:
            milliseconds, mebibytes = _measure(kind, sessions)
            times[kind.name].append(milliseconds)
            sizes[kind.name].append(mebibytes)
    rows = [GridRow(f"open {sessions:,} sessions and streams", Unit.MILLISECONDS, times)]
    if can_be_measured():
        rows.append(
            GridRow(
                f"memory of {sessions:,} sessions and streams",
                Unit.MEBIBYTES,
                sizes,
                None if place.effort.is_quick else MEMORY_AIM,
            )
        )
    return rows


def _measure(kind: MeasuredServer, sessions: int) -> tuple[float, float]:
    with HttpServer(kind) as server, LoadProcess() as load:
        load.carry_out(Open(server.port, WARM_UP))
        before = memory_of([server.pid])
        done = load.carry_out(Open(server.port, WARM_UP + sessions))
        after = memory_of([server.pid])
        return done.seconds * 1000, after.pss - before.pss
