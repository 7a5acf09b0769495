"""Pure. The report: one row per measurement, ours beside theirs, and whether the aim is met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.samples import Summary, quantile, summary


class Unit(StrEnum):
    """What a number counts."""

    MILLISECONDS = "ms"
    MICROSECONDS = "µs"
    PER_SECOND = "/s"
    MEGABYTES_PER_SECOND = "MB/s"
    MEBIBYTES = "MiB"
    KIBIBYTES = "KiB"
    BYTES = "bytes"
    ELEMENTS = "elements"
    TASKS = "tasks"
    PERCENT = "%"


@dataclass(frozen=True, slots=True)
class Aim:
    """What our number shall be: at most or at least so much, or at most or at least so many times theirs."""

    at_most: float | None = None
    times_theirs: float | None = None
    at_least: float | None = None
    at_least_times: float | None = None

    def text(self, unit: Unit) -> str:
        """For the table."""
        if self.at_most is not None:
            return f"≤ {self.at_most:g} {unit}"
        if self.at_least is not None:
            return f"≥ {self.at_least:,g} {unit}"
        if self.at_least_times is not None:
            return f"≥ {self.at_least_times:g} ×"
        return f"≤ {self.times_theirs:g} ×"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured on both sides, in turn, or on ours alone; then `theirs` is empty."""

    what: str
    unit: Unit
    theirs: Sequence[float]
    ours: Sequence[float]
    aim: Aim | None = None
    part: float = 0.5
    """Which quantile stands for the samples; nearly always the median."""
    is_difference: bool = False
    """Our number is what we add to theirs: then it is compared, and not the time as a whole."""

    @property
    def their_number(self) -> float:
        """What stands for their samples."""
        return quantile(self.theirs, self.part)

    @property
    def our_number(self) -> float:
        """What stands for ours."""
        whole = quantile(self.ours, self.part)
        return whole - self.their_number if self.is_difference else whole

    @property
    def ratio(self) -> float | None:
        """Ours as a multiple of theirs; None if there are none of theirs."""
        return None if not self.theirs else quantile(self.ours, self.part) / self.their_number

    @property
    def is_met(self) -> bool | None:
        """Did we reach the aim? None if there is none."""
        if self.aim is None:
            return None
        if self.aim.at_most is not None:
            return self.our_number <= self.aim.at_most
        if self.aim.at_least is not None:
            return self.our_number >= self.aim.at_least
        assert self.ratio is not None, "an aim that is a multiple needs something to compare with"
        if self.aim.at_least_times is not None:
            return self.ratio >= self.aim.at_least_times
        assert self.aim.times_theirs is not None
        return self.ratio <= self.aim.times_theirs


HEAD = ("what", "theirs", "ours", "ratio", "aim", "met")


def table(rows: Sequence[Row]) -> str:
    """A table that reads well as text, and is one in Markdown too."""
    cells = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    met = {None: "", True: "yes", False: "NO"}[row.is_met]
    aim = "" if row.aim is None else row.aim.text(row.unit)
    ours = _spread(row.ours, row.part, row.unit)
    if row.is_difference:
        ours = f"{row.our_number:+.2f} {row.unit}: {ours}"
    theirs = _spread(row.theirs, row.part, row.unit) if row.theirs else ""
    return (row.what, theirs, ours, "" if row.ratio is None else f"{row.ratio:.2f}", aim, met)


def _spread(samples: Sequence[float], part: float, unit: Unit) -> str:
    """The number; in brackets the quartiles, the least, and how many samples it stands for."""
    of_all = summary(samples)
    number = f"{short(quantile(samples, part))} {unit}"
    if of_all.count == 1 or of_all.least == of_all.upper_quartile:
        return f"{number} (n {of_all.count})"
    quartiles = f"{short(of_all.lower_quartile)}–{short(of_all.upper_quartile)}"
    return f"{number} ({quartiles}, min {short(of_all.least)}, n {of_all.count})"


def short(number: float) -> str:
    """As many digits as are worth reading."""
    if number >= 1000:
        return f"{number:,.0f}"
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


@dataclass(frozen=True, slots=True)
class RowRecord:
    """A row as it is written to a file."""

    what: str
    unit: Unit
    theirs: Summary | None
    ours: Summary
    ratio: float | None
    difference: float | None
    aim: str | None
    met: bool | None


def record(row: Row) -> RowRecord:
    """What is kept of a row."""
    return RowRecord(
        what=row.what,
        unit=row.unit,
        theirs=summary(row.theirs) if row.theirs else None,
        ours=summary(row.ours),
        ratio=row.ratio,
        difference=row.our_number if row.is_difference else None,
        aim=None if row.aim is None else row.aim.text(row.unit),
        met=row.is_met,
    )
