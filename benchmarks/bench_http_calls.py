"""`tools/call` over HTTP: how many per second, how long each takes, and what it costs the server."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack

from benchmarks.grid import GridAim, GridRow
from benchmarks.http_children import (
    FASTMCP_JSON,
    FASTMCP_SSE,
    OURS,
    PRODUCT,
    SDK_JSON,
    SDK_SSE,
    HttpServer,
    LoadProcess,
    raise_file_limit,
)
from benchmarks.http_load import Call
from benchmarks.http_messages import Era
from benchmarks.place import Place
from benchmarks.rows import Unit

ROUNDS = 4
SECONDS = 40.0
SLICE = 0.4
"""Seconds for one server, era and number of clients; a round has twenty of them."""

SHORT_SLICE = 0.2
"""To warm up, and where it must be quick."""

CLIENTS = (1, 64)
KINDS = (OURS, PRODUCT, SDK_JSON, SDK_SSE, FASTMCP_JSON, FASTMCP_SSE)
CALLS_AIM = GridAim(times_best=5)
MICROSECONDS = 1_000_000

Samples = dict[str, dict[str, list[float]]]
"""By what is measured, then by server."""


def run(place: Place) -> list[GridRow]:
    """Let the same clients call every server in turn."""
    samples: Samples = defaultdict(lambda: defaultdict(list))
    raise_file_limit()
    with ExitStack() as stack:
        load = stack.enter_context(LoadProcess())
        servers = [stack.enter_context(HttpServer(kind)) for kind in KINDS]
        for server in servers:
            for era in Era:
                load.carry_out(Call(server.port, era, max(CLIENTS), SHORT_SLICE, server.kind.waits))
        seconds = SHORT_SLICE if place.effort.is_quick else SLICE
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for era in Era:
                for clients in CLIENTS:
                    for server in servers:
                        _measure(load, server, Call(server.port, era, clients, seconds, server.kind.waits), samples)
    return [row for era in Era for clients in CLIENTS for row in _rows(_name(era, clients), clients, samples)]


def _name(era: Era, clients: int) -> str:
    return f"{era}, {clients} client{'s' if clients > 1 else ''}"


def _measure(load: LoadProcess, server: HttpServer, call: Call, samples: Samples) -> None:
    worked = server.cpu_seconds()
    done = load.carry_out(call)
    worked = server.cpu_seconds() - worked
    name = _name(call.era, call.clients)
    samples[f"{name}: rate"][server.kind.name].append(done.count / done.seconds)
    samples[f"{name}: p50"][server.kind.name].append(done.p50)
    samples[f"{name}: p99"][server.kind.name].append(done.p99)
    if worked:
        samples[f"{name}: cpu"][server.kind.name].append(worked * MICROSECONDS / done.count)


def _rows(name: str, clients: int, samples: Samples) -> list[GridRow]:
    many = clients == max(CLIENTS)
    rows = []
    for what, server in (("echo", OURS), ("the product's codex_wait", PRODUCT)):
        chosen = _with_ours(samples, name, server.name)
        rows += [
            GridRow(f"{what}, {name}", Unit.PER_SECOND, chosen["rate"], CALLS_AIM if many else None),
            GridRow("… p50", Unit.MILLISECONDS, chosen["p50"]),
            GridRow("… p99", Unit.MILLISECONDS, chosen["p99"]),
        ]
        if many and chosen["cpu"]:
            rows.append(GridRow("… processor time each", Unit.MICROSECONDS, chosen["cpu"]))
    return rows


def _with_ours(samples: Samples, name: str, ours: str) -> Samples:
    """The samples of the other servers beside those of one of ours."""
    mine = {OURS.name, PRODUCT.name}
    chosen: Samples = {}
    for measure in ("rate", "p50", "p99", "cpu"):
        found = samples[f"{name}: {measure}"]
        others = {server: values for server, values in found.items() if server not in mine}
        chosen[measure] = {OURS.name: found[ours], **others} if found else {}
    return chosen
