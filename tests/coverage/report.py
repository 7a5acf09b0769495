"""Pure. What `coverage json` says, as numbers for each package, and what falls short of a floor."""

import math
from collections.abc import Mapping

import msgspec

MARGIN = 0.5
"""Percent between a measurement and the floor that it sets: branches that depend on timing differ from run to run."""


class Summary(msgspec.Struct, frozen=True):
    """How much of a file was run."""

    covered_lines: int
    num_statements: int
    covered_branches: int
    num_branches: int


class File(msgspec.Struct, frozen=True):
    """A file and what was not run of it."""

    summary: Summary
    missing_lines: list[int]
    missing_branches: list[tuple[int, int]] = []


class Report(msgspec.Struct, frozen=True):
    """The output of `coverage json`."""

    files: dict[str, File]


def percent(report: Report) -> float:
    """The share of lines and branches that were run."""
    summaries = [file.summary for file in report.files.values()]
    covered = sum(each.covered_lines + each.covered_branches for each in summaries)
    total = sum(each.num_statements + each.num_branches for each in summaries)
    return 100 * covered / total if total else 100.0


def missing(report: Report, pure: frozenset[str]) -> list[str]:
    """Lines and branches of these files that were not run: `path:line`, or `path:line->line`."""
    found = []
    for path, file in sorted(report.files.items()):
        if path in pure:
            found += [f"{path}:{line}" for line in file.missing_lines]
            lines = set(file.missing_lines)
            found += [f"{path}:{one}->{other}" for one, other in file.missing_branches if one not in lines]
    return found


def below(measured: Mapping[str, float], floors: Mapping[str, float]) -> list[str]:
    """One sentence for each package below its floor or without one."""
    found = []
    for package, share in measured.items():
        if package not in floors:
            found.append(f"{package} has no floor; set it with RAISE=--raise")
        elif share < floors[package]:
            found.append(f"{package}: {share:.1f} % is less than its floor of {floors[package]} %")
    return found


def raised(measured: Mapping[str, float], floors: Mapping[str, float]) -> dict[str, float]:
    """The floors after this measurement; none gets lower."""
    shares = {package: math.floor((share - MARGIN) * 10) / 10 for package, share in measured.items()}
    return {package: max(share, floors.get(package, 0.0)) for package, share in sorted(shares.items())}
