"""The installed packages as wheels again: a test installs ours with all that it needs, without a network."""

import csv
import io
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, PackagePath, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LARGE = 50 << 20
"""Bytes. Codex's programs are larger; scripts that start the installed ones stand in for them."""


def needed(names: Iterable[str]) -> set[str]:
    """These packages and, on this platform, all that they require."""
    found: set[tuple[str, str]] = set()
    open_ones = [Requirement(name) for name in names]
    while open_ones:
        asked = open_ones.pop()
        for extra in ("", *asked.extras):
            key = (canonicalize_name(asked.name), extra)
            if key in found:
                continue
            found.add(key)
            required = [Requirement(text) for text in distribution(asked.name).requires or ()]
            open_ones += [one for one in required if not one.marker or one.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def pack(name: str, folder: Path) -> None:
    """Write the wheel of an installed package into a folder."""
    package = distribution(name)
    tag = next(line for line in (package.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: "))
    stem = f"{canonicalize_name(name).replace('-', '_')}-{package.version}"
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(folder / f"{stem}-{tag.removeprefix('Tag: ')}.whl", "w") as wheel:
        for file in _files(package):
            entry = zipfile.ZipInfo(str(file))
            entry.external_attr = _located(package, file).stat().st_mode << 16
            wheel.writestr(entry, _content(_located(package, file)))
            rows.writerow([file, "", ""])
        (info,) = {file.parts[0] for file in _files(package) if file.parts[0].endswith(".dist-info")}
        rows.writerow([f"{info}/RECORD", "", ""])
        wheel.writestr(f"{info}/RECORD", record.getvalue())


def _files(package: Distribution) -> list[PackagePath]:
    """Without programs in bin, which installers make again, and what the last installer noted."""
    left_out = {"__pycache__", "..", "INSTALLER", "REQUESTED", "RECORD", "direct_url.json"}
    return [file for file in package.files or () if not left_out & {*file.parts}]


def _located(package: Distribution, file: PackagePath) -> Path:
    return Path(str(package.locate_file(file)))


def _content(path: Path) -> bytes:
    if path.stat().st_size < LARGE:
        return path.read_bytes()
    return f'#!/bin/sh\nexec "{path}" "$@"\n'.encode()
