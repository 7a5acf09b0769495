"""`make walks`: count the function entries and package changes of four walks through the product.

`--sources ../old/src` adds another version, so that two can be compared in one run.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median_low

from tests.support.servers.mcp_server import SOURCES
from tests.walks.walks import WALKS, Count


async def measure(sources: Path, times: int) -> list[Count]:
    """Walk every walk a few times in a warm server; of each part, the median of entries and of changes.

    How many messages the server finds in one read differs from time to time, and with it the numbers.
    """
    found: dict[str, list[Count]] = {}
    for walk in WALKS:
        with tempfile.TemporaryDirectory(prefix="codex-mcp-walk-") as folder:
            for count in await walk(Path(folder), sources, times + 1):
                found.setdefault(count.name, []).append(count)
    return [
        Count(name, median_low([c.entries for c in counts[1:]]), median_low([c.changes for c in counts[1:]]))
        for name, counts in found.items()
    ]


def table(new: list[Count], old: list[Count] | None) -> str:
    """A line for each part of a walk; with another version, its numbers first."""
    width = max(len(count.name) for count in new)
    if old is None:
        lines = [f"{'':{width}}  entries  changes"]
        lines += [f"{count.name:{width}}  {count.entries:7}  {count.changes:7}" for count in new]
        return "\n".join(lines)
    lines = [f"{'':{width}}  {'entries':>14}  {'changes':>14}"]
    for count, before in zip(new, old, strict=True):
        entries = f"{before.entries} → {count.entries}"
        changes = f"{before.changes} → {count.changes}"
        share = count.changes / before.changes - 1
        lines.append(f"{count.name:{width}}  {entries:>14}  {changes:>14}  {share:+.0%}")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=__doc__)
    parser.add_argument(
        "--sources", type=Path, metavar="DIR", help="the src folder of another version, to compare with"
    )
    parser.add_argument("--times", type=int, default=9, help="how often each walk is measured")
    chosen = parser.parse_args()
    old = asyncio.run(measure(chosen.sources.resolve(), chosen.times)) if chosen.sources else None
    sys.stdout.write(table(asyncio.run(measure(SOURCES, chosen.times)), old) + "\n")


if __name__ == "__main__":
    main()
