"""`make soak`: five hundred clients at once, several times over, and what the server holds after each time."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.soak.storm import calm, numbers, soaked_server, storm

GROWTH = 32 * 1024
"""KiB between the first storm and the last: a leak of a kilobyte for each client would be several times that much."""


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


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(soak(Path(folder), chosen.sessions, chosen.rounds, chosen.seed))


if __name__ == "__main__":
    main()
