"""Pure. What `coverage json` says, as numbers for each package, and what falls short of a floor."""

import math
from collections.abc import Mapping

import msgspec

MARGIN = 1.0
"""Percent between a measurement and the floor that it sets: branches that depend on timing differ from run to run."""


class Summary(msgspec.Struct, frozen=True):
    """How much of a file was run."""

    covered_lines: int
    num_statements: int
    covered_branches: int
    num_branches: int


class Region(msgspec.Struct, frozen=True):
    """A function and what was not run of it; one without a name is all of a file that is in no function."""

    summary: Summary
    missing_lines: list[int]
    missing_branches: list[tuple[int, int]] = []


class File(msgspec.Struct, frozen=True):
    functions: dict[str, Region]


class Report(msgspec.Struct, frozen=True):
    """The output of `coverage json`."""

    files: dict[str, File]


def percent(report: Report) -> float:
    """The share of lines and branches that were run. What is in no function counts as run: every import runs it."""
    regions = [region for file in report.files.values() for region in file.functions.items()]
    total = sum(region.summary.num_statements + region.summary.num_branches for _, region in regions)
    left_out = sum(_left_out(region.summary) for name, region in regions if name)
    return 100 * (total - left_out) / total if total else 100.0


def _left_out(summary: Summary) -> int:
    return summary.num_statements + summary.num_branches - summary.covered_lines - summary.covered_branches


def missing(report: Report, pure: frozenset[str]) -> dict[str, list[str]]:
    """The lines and branches in functions of these files that were not run, by file: `12`, or `12->14`."""
    found: dict[str, list[str]] = {}
    for path in sorted(pure & report.files.keys()):
        for region in (region for name, region in report.files[path].functions.items() if name):
            lines = set(region.missing_lines)
            branches = [f"{one}->{other}" for one, other in region.missing_branches if one not in lines]
            found.setdefault(path, []).extend([*map(str, region.missing_lines), *branches])
    return {path: places for path, places in found.items() if places}


def below(measured: Mapping[str, float], floors: Mapping[str, float]) -> list[str]:
    """One sentence for each package below its floor or without one."""
    found = []
    for package, share in measured.items():
        if package not in floors:
            found.append(f"{package} has no floor; set it with RAISE=--raise")
        elif share < floors[package]:
            found.append(f"{package}: {share:.1f} % is less than its floor of {floors[package]} %")
    return found


def beyond(left_out: Mapping[str, list[str]], allowed: Mapping[str, int]) -> list[str]:
    """One sentence for each pure file of which more was left out than is allowed; by default nothing is."""
    return [
        f"{path}: the tests of its package do not run {', '.join(places)}"
        + (f"; {most} places are allowed" if (most := allowed.get(path, 0)) else "")
        for path, places in left_out.items()
        if len(places) > allowed.get(path, 0)
    ]


def raised(measured: Mapping[str, float], floors: Mapping[str, float]) -> dict[str, float]:
    """The floors after this measurement; none gets lower."""
    shares = {package: math.floor((share - MARGIN) * 10) / 10 for package, share in measured.items()}
    return {package: max(share, floors.get(package, 0.0)) for package, share in sorted(shares.items())}


def lowered(left_out: Mapping[str, list[str]], allowed: Mapping[str, int]) -> dict[str, int]:
    """What may be left out after this measurement; nothing gets more."""
    counts = {path: min(most, len(left_out.get(path, ()))) for path, most in sorted(allowed.items())}
    return {path: count for path, count in counts.items() if count}
