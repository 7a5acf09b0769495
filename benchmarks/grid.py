"""Pure. The report on HTTP: one row per measurement, a column for each server, and how ours compares with each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.rows import Unit, short
from benchmarks.samples import Summary, quantile, summary

OURS = "ours"


@dataclass(frozen=True, slots=True)
class GridAim:
    """What our number shall be: so many times the best of theirs at least (or a limit for what should be small)."""

    times_best: float | None = None
    at_most: float | None = None

    def text(self, unit: Unit) -> str:
        """For the table."""
        return f"≤ {self.at_most:g} {unit}" if self.at_most is not None else f"≥ {self.times_best:g} × the best"


@dataclass(frozen=True, slots=True)
class GridRow:
    """One thing that was measured on several servers, in turn; ours is one of them."""

    what: str
    unit: Unit
    samples: Mapping[str, Sequence[float]]
    aim: GridAim | None = None

    def number(self, server: str) -> float:
        """What stands for a server's samples."""
        return quantile(self.samples[server], 0.5)

    def ratio(self, server: str) -> float:
        """Ours as a multiple of this server's."""
        return self.number(OURS) / self.number(server)

    @property
    def is_met(self) -> bool | None:
        """Did we reach the aim? None if there is none."""
        if self.aim is None:
            return None
        if self.aim.at_most is not None:
            return self.number(OURS) <= self.aim.at_most
        assert self.aim.times_best is not None
        return min(self.ratio(server) for server in self.samples if server != OURS) >= self.aim.times_best


def grid(rows: Sequence[GridRow]) -> str:
    """A table that reads well as text, and is one in Markdown too."""
    servers = list(dict.fromkeys(server for row in rows for server in row.samples))
    cells = [("what", *servers, "aim", "met"), *(_cells(row, servers) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _cells(row: GridRow, servers: Sequence[str]) -> tuple[str, ...]:
    met = {None: "", True: "yes", False: "NO"}[row.is_met]
    aim = "" if row.aim is None else row.aim.text(row.unit)
    return (row.what, *(_cell(row, server) for server in servers), aim, met)


def _cell(row: GridRow, server: str) -> str:
    if server not in row.samples:
        return ""
    number = f"{short(row.number(server))} {row.unit}"
    if server == OURS:
        return f"{number} (n {len(row.samples[server])})"
    return f"{number} ({row.ratio(server):.2f})"


@dataclass(frozen=True, slots=True)
class GridRecord:
    """A row as it is written to a file."""

    what: str
    unit: Unit
    servers: dict[str, Summary]
    ratios: dict[str, float]
    aim: str | None
    met: bool | None


def grid_record(row: GridRow) -> GridRecord:
    """What is kept of a row."""
    return GridRecord(
        what=row.what,
        unit=row.unit,
        servers={server: summary(samples) for server, samples in row.samples.items()},
        ratios={server: row.ratio(server) for server in row.samples if server != OURS},
        aim=None if row.aim is None else row.aim.text(row.unit),
        met=row.is_met,
    )
