"""Notifications that a call streams to its client over HTTP."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.grid import GridAim, GridRow
from benchmarks.http_children import FASTMCP_SSE, OURS, SDK_SSE, HttpServer, LoadProcess
from benchmarks.http_load import Count
from benchmarks.http_messages import Era
from benchmarks.place import Place
from benchmarks.rows import Unit

ROUNDS = 5
SECONDS = 15.0
CALLS = 20
NOTIFICATIONS = 100
"""In one call; ours keeps 128 for a slow reader, and drops what is older. Nothing may be dropped here."""

KINDS = (OURS, SDK_SSE, FASTMCP_SSE)
NOTES_AIM = GridAim(times_best=10)


def run(place: Place) -> list[GridRow]:
    """Let the same client call every server in turn."""
    rates: dict[Era, dict[str, list[float]]] = {era: {kind.name: [] for kind in KINDS} for era in Era}
    with ExitStack() as stack:
        load = stack.enter_context(LoadProcess())
        servers = [stack.enter_context(HttpServer(kind)) for kind in KINDS]
        for server in servers:
            for era in Era:
                load.carry_out(Count(server.port, era, 1, NOTIFICATIONS))
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for era in Era:
                for server in servers:
                    done = load.carry_out(Count(server.port, era, CALLS, NOTIFICATIONS))
                    rates[era][server.kind.name].append(done.count / done.seconds)
    return [GridRow(f"streamed notifications, {era}", Unit.PER_SECOND, rates[era], NOTES_AIM) for era in Era]
