"""What servers of several machines cost: PostgreSQL beside a folder, and a call that another server passes on."""

from __future__ import annotations

import asyncio
import importlib.metadata
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks import replay
from benchmarks.clients import CoreClient, McpClient
from benchmarks.memory import cpu_of_process
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit
from codex_mcp.state.contract import Claim, Store
from codex_mcp.state.embedded.store import open_store
from codex_mcp.state.postgres.store import open_store as open_postgres
from tests.support.state.postgres import Postgres

WARM_UP = 5
ROUNDS = 300
SECONDS = 12.0
FEW, MANY = 10, 1_000
"""Agents in the store of a server that runs one of them."""

NAMES = 100
"""Fewer than one principal may have."""

BATCH = 50
EVENT = b"x" * 300

AS_THE_FILES = Aim(times_theirs=1.05)
CPU = Aim(times_theirs=1.2)
HALF_A_MILLISECOND = Aim(at_most=0.5)
APPENDS = Aim(at_least_times=0.3)
BATCHES = Aim(at_least_times=0.4)


def run(place: Place) -> list[Row]:
    """In turn: the same on both sides."""
    postgres = Postgres(durable=True)
    try:
        postgres.start()
        return [*_turns(place, postgres), *asyncio.run(_appends(place, postgres))]
    finally:
        postgres.remove()


def _turns(place: Place, postgres: Postgres) -> list[Row]:
    with CoreClient(place.core()) as real:
        real.initialize()
        recording = real.record()
    codex = replay.program(
        place.folder / "replay cluster", recording, importlib.metadata.version("openai-codex-cli-bin")
    )
    flags = ("--codex-bin", str(codex), "--summary-timeout", "0")
    first, few, many = (asyncio.run(postgres.schema()) for _ in range(3))
    for dsn, count in ((few, FEW), (many, MANY)):
        asyncio.run(_fill(dsn, count))
    with (
        McpClient(place.team(*flags, home="in-a-folder")) as folder,
        McpClient(place.team(*flags, home="in-a-folder")) as beside,
        McpClient(place.team(*flags, "--state", first, home="in-postgresql")) as database,
        McpClient(place.team(*flags, "--state", few, home="of-few")) as of_few,
        McpClient(place.team(*flags, "--state", many, home="of-many")) as of_many,
    ):
        servers = (folder, database, of_few, of_many)
        for server in (*servers, beside):
            server.initialize()
        threads = [server.start_threads(1) for server in servers]
        deeds = [partial(server.reply, thread) for server, thread in zip(servers, threads, strict=True)]
        deeds.append(partial(beside.reply, threads[0]))
        took = _in_turn(place, deeds)
        used = _processor_time(place, [folder, database], deeds[:2])
    in_folder, in_database, with_few, with_many, elsewhere = took
    return [
        Row("a recorded turn in PostgreSQL; theirs: a folder", Unit.MILLISECONDS, in_folder, in_database, AS_THE_FILES),
        Row("processor time of such a turn", Unit.MILLISECONDS, used[0], used[1], CPU),
        Row(
            f"a turn with {MANY:,} agents in PostgreSQL; theirs: {FEW}",
            Unit.MILLISECONDS,
            with_few,
            with_many,
            AS_THE_FILES,
        ),
        Row(
            "added to a turn by a server that passes it on",
            Unit.MILLISECONDS,
            in_folder,
            elsewhere,
            HALF_A_MILLISECOND,
            is_difference=True,
        ),
    ]


def _in_turn(place: Place, deeds: Sequence[Callable[[], object]]) -> list[list[float]]:
    """The milliseconds of each deed, again and again."""
    took: list[list[float]] = [[] for _ in deeds]
    for _ in range(WARM_UP):
        for deed in deeds:
            deed()
    for number in place.effort.rounds(ROUNDS, SECONDS * len(deeds)):
        both = list(zip(deeds, took, strict=True))
        for deed, found in both if number % 2 else reversed(both):
            began = time.perf_counter()
            deed()
            found.append(1000 * (time.perf_counter() - began))
    return took


def _processor_time(
    place: Place, servers: Sequence[McpClient], deeds: Sequence[Callable[[], object]]
) -> list[list[float]]:
    """The milliseconds of processor time of each server for one deed."""
    used: list[list[float]] = [[] for _ in deeds]
    for _ in place.effort.rounds(8, SECONDS):
        for server, deed, found in zip(servers, deeds, used, strict=True):
            before = cpu_of_process(server.pid)
            for _ in range(20):
                deed()
            found.append((cpu_of_process(server.pid) - before) / 20)
    return used


async def _fill(dsn: str, count: int) -> None:
    """So many closed agents, each with a record of 3 KB."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_postgres(dsn, folder)
        await store.leases.join()
        for number in range(count):
            claim = await store.leases.claim(f"codex:{number:012x}")
            assert isinstance(claim, Claim)
            await store.records.put(claim, "agent", claim.thread, _record(claim.thread, number))
            await store.leases.release(claim)
        await store.aclose()


def _record(codex_id: str, number: int) -> bytes:
    names = f'"codex_id":"{codex_id}","identity":"agent-{number % NAMES}","team":"default","cwd":"/srv"'
    times = f'"started_at":{number}.0,"last_active":{number}.0'
    return f'{{{names},{times},"status":"closed","thread_state":"closed","last_error":"{"x" * 2700}"}}'.encode()


async def _appends(place: Place, postgres: Postgres) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        stores: list[Store] = [
            await open_store(folder),
            await open_postgres(await postgres.schema(), folder),
        ]
        rows = []
        for what, chunks, aim in (
            ("appended entries, 1 at once, in PostgreSQL; theirs: a folder", 1, APPENDS),
            (f"appended entries, {BATCH} at once", BATCH, BATCHES),
        ):
            speeds: list[list[float]] = [[], []]
            for _ in place.effort.rounds(7, SECONDS):
                for store, found in zip(stores, speeds, strict=True):
                    found.append(await _appended(store, chunks))
            rows.append(Row(what, Unit.PER_SECOND, speeds[0], speeds[1], aim))
        for store in stores:
            await store.aclose()
    return rows


async def _appended(store: Store, chunks: int) -> float:
    """Entries a second, one write after the other."""
    await store.leases.join()
    claim = await store.leases.claim("t")
    assert isinstance(claim, Claim)
    await store.journal.forget(claim)
    began = time.perf_counter()
    for _ in range(200):
        await store.journal.append(claim, "s", [EVENT] * chunks)
    return 200 * chunks / (time.perf_counter() - began)
