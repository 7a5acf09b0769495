"""`make soak`: five hundred clients at once, several times over, and what the server holds after each time; then a
thousand random lives of clients; then the exec-server, with two hundred clients at once and ten thousand short
processes; then writers of one mail file; then ten thousand turns of agents, whose tokens are compared with those of the
model; then two hundred owners of turns, killed while their core goes on."""

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.soak.exec_storm import forgotten, held_at_once, many_short, soaked_exec_server
from tests.soak.lives import lively_server, lives
from tests.soak.mail_storm import MIXES, mail_storm
from tests.soak.storm import calm, numbers, soaked_server, storm
from tests.support.core.deaths import lives as lives_of_owners
from tests.support.exec.wire import session
from tests.support.team.conservation import conserve

GROWTH = 32 * 1024
"""KiB between the first storm and the last: a leak of a kilobyte for each client would be several times that much."""

EXEC_GROWTH = 2 * 1024
"""KiB between the first batch of short processes and the last, when none can be read any longer: a tenth of a kilobyte
for each would be seen within a hundred thousand, a descriptor or a child at once."""

BATCHES = 3
HELD = 200
TURNS = 1000


async def soak(folder: Path, sessions: int, rounds: int, seed: int) -> None:
    """Run the storms; fail if the server is not back where it was after the first one."""
    async with soaked_server(folder) as server:
        port, pid = server.port, server.process.pid
        before = None
        for number in range(rounds):
            await storm(port, sessions, seed + number)
            held = await calm(port, pid, before)
            found = await numbers(port)
            sys.stdout.write(
                f"storm {number + 1}: {sessions} clients (seed {seed + number}) are gone; "
                f"{held.descriptors} descriptors, {held.tasks} tasks, {held.kibibytes / 1024:.0f} MiB; "
                f"{found['dropped_messages_total']:.0f} messages dropped for slow readers so far\n"
            )
            before = before or held
            assert held.kibibytes <= before.kibibytes + GROWTH, "the memory grows"
        assert "Traceback" not in server.log, "see the log"


async def soak_lives(folder: Path, count: int, seed: int) -> None:
    """Play random lives of clients on one server."""
    async with lively_server(folder) as (port, model):
        await lives(port, model, range(seed, seed + count), at_once=8)
    sys.stdout.write(f"{count} random clients (from seed {seed}) were told each answer once, and could continue\n")


async def soak_exec_server(folder: Path, processes: int) -> None:
    """Hold two hundred clients and processes; then run short processes in batches, each forgotten before the next."""
    async with soaked_exec_server(folder) as soaked:
        fresh = soaked.weight()
        for _ in range(2):
            held = await held_at_once(soaked, HELD)
            after = await soaked.calm(fresh)
            sys.stdout.write(f"{HELD} clients with a process each: {held}; when they are gone: {after}\n")
        before, size = None, processes // BATCHES
        async with session(soaked.here.url) as wire:
            fresh = soaked.weight()
            for batch in range(BATCHES):
                await many_short(wire, soaked.here, batch * size, size)
                full = soaked.weight()
                await forgotten(wire, (batch + 1) * size - 1)
                after = await soaked.calm(fresh)
                sys.stdout.write(f"{(batch + 1) * size} short processes: {full}; when they are forgotten: {after}\n")
                before = before or after
                assert after.kibibytes <= before.kibibytes + EXEC_GROWTH, "the memory grows"


async def soak_mail(messages: int) -> None:
    """Run every mix of writers."""
    for mix in MIXES:
        left = await mail_storm(mix, messages)
        lost = ", ".join(f"{count} of {left.sent[kind]} of {kind}" for kind, count in left.lost.items())
        sys.stdout.write(f"mail by {' + '.join(mix)}: lost are {lost}\n")


async def soak_tokens(turns: int, seed: int) -> None:
    """Let agents do everything that makes Codex ask the model, a thousand turns for each seed."""
    for number in range(turns // TURNS):
        with tempfile.TemporaryDirectory() as folder:
            done = await conserve(Path(folder), TURNS, seed + number)
        what = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
        sys.stdout.write(f"seed {seed + number}: the model has counted what we report; {what}\n")


async def soak_owners(kills: int, seed: int) -> None:
    """Kill the owners of turns, whose core outlives them, at random steps."""
    died: Counter[str] = Counter()
    while died.total() < kills:
        chosen = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            died += await lives_of_owners(Path(folder), [str(chosen.randint(1, 60)) for _ in range(20)], times=4)
        seed += 1
    what = ", ".join(f"{name} {count}" for name, count in sorted(died.items()))
    sys.stdout.write(
        f"{died.total()} owners of turns were killed (to seed {seed - 1}), nothing lost or doubled: {what}\n"
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--lives", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=10 * TURNS)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--only", choices=["http", "lives", "exec", "mail", "tokens", "owners"])
    chosen = parser.parse_args()
    if chosen.only in (None, "http"):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(soak(Path(folder), chosen.sessions, chosen.rounds, chosen.seed))
    if chosen.only in (None, "lives"):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(soak_lives(Path(folder), chosen.lives, chosen.seed))
    if chosen.only in (None, "exec"):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(soak_exec_server(Path(folder), chosen.processes))
    if chosen.only in (None, "mail"):
        asyncio.run(soak_mail(chosen.messages))
    if chosen.only in (None, "tokens"):
        asyncio.run(soak_tokens(chosen.turns, chosen.seed))
    if chosen.only in (None, "owners"):
        asyncio.run(soak_owners(chosen.kills, chosen.seed))


if __name__ == "__main__":
    main()
