"""How our memory and our answers grow with the number of sessions that have an open stream: up to ten thousand."""

from __future__ import annotations

from benchmarks.grid import OURS as OUR_NAME
from benchmarks.grid import GridRow
from benchmarks.http_children import OURS, HttpServer, LoadProcess, raise_file_limit
from benchmarks.http_load import Open, Ping
from benchmarks.memory import can_be_measured, memory_of
from benchmarks.place import Place
from benchmarks.plot import Line, Panel, drawing
from benchmarks.rows import Unit

STEPS = (100, 300, 1_000, 3_000, 10_000)
QUICK_STEPS = STEPS[:3]
PINGS = 300
SPARE_FILES = 200
"""What a process has open besides its connections, generously."""


def run(place: Place) -> list[GridRow]:
    """Open more and more sessions on one server, and look around at each step. The last step is our default limit."""
    files = raise_file_limit()
    steps = [step for step in (QUICK_STEPS if place.effort.is_quick else STEPS) if step + SPARE_FILES < files]
    rows: list[GridRow] = []
    memory, middle, worst = [], [], []
    with HttpServer(OURS) as server, LoadProcess() as load:
        for step in steps:
            load.carry_out(Open(server.port, step))
            load.carry_out(Ping(server.port, PINGS // 10))
            pings = load.carry_out(Ping(server.port, PINGS))
            middle.append((float(step), pings.p50))
            worst.append((float(step), pings.p99))
            rows.append(GridRow(f"ping with {step:,} idle sessions, p50", Unit.MILLISECONDS, {OUR_NAME: [pings.p50]}))
            rows.append(GridRow("… p99", Unit.MILLISECONDS, {OUR_NAME: [pings.p99]}))
            if can_be_measured():
                memory.append((float(step), memory_of([server.pid]).pss))
                rows.append(GridRow("… memory of the server", Unit.MEBIBYTES, {OUR_NAME: [memory[-1][1]]}))
    if place.plot is not None:
        panels = [Panel("memory of the server", str(Unit.MEBIBYTES), [Line("PSS", memory)])] if memory else []
        panels.append(Panel("round trip of a ping", str(Unit.MILLISECONDS), [Line("p50", middle), Line("p99", worst)]))
        place.plot.write_text(drawing("idle sessions with an open stream", panels))
    return rows
