"""Pure. The versions of Codex that our tests ran with, and what does not work in them.

`make codex VERSION=x` runs the tests and prints the row. Any other version is tried on the user's machine before it is
used (`verdicts`).
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

Version = tuple[int, int, int]


class Measured(Struct, frozen=True):
    version: Version
    ran: str
    """Which tests ran with it as the core."""
    exceptions: tuple[str, ...] = ()
    """What does not work in it. A `codex` on PATH with exceptions is not used."""


MEASURED: Final = (
    Measured((0, 163, 0), "everything"),
    Measured((0, 164, 0), "acceptance"),
    Measured((0, 165, 0), "acceptance"),
    Measured((0, 166, 0), "judges", ("it ignores the model provider that a call names",)),
    Measured((0, 169, 0), "everything"),
)

OLD_FROM: Final[Version] = (0, 103, 0)
OLD_BELOW: Final[Version] = (0, 154, 0)
"""Versions whose `codex mcp-server` can be the core; 0.154.0 removed it. 0.104.0 and 0.153.4 have been tested."""


def measured(version: Version) -> Measured | None:
    return next((row for row in MEASURED if row.version == version), None)


def is_fit(version: Version) -> bool:
    """Whether our tests ran with this version, and everything works in it."""
    row = measured(version)
    return row is not None and not row.exceptions


def fit_versions() -> str:
    return listed(row.version for row in MEASURED if not row.exceptions)


def listed(versions: Iterable[Version]) -> str:
    """`0.163.0, 0.164.0 and 0.165.0`."""
    *most, last = map(shown, versions)
    return f"{', '.join(most)} and {last}" if most else last


def is_old(version: Version) -> bool:
    return OLD_FROM <= version < OLD_BELOW


def old_range() -> str:
    return f"{shown(OLD_FROM)} up to, but not including, {shown(OLD_BELOW)}"


def preview_of(text: str) -> str:
    """The suffix of a version that came before its release, such as `-alpha.3`; empty if it is a release."""
    found = re.search(r"\d+\.\d+\.\d+(-(?:alpha|beta|rc|dev|pre|nightly)[\w.]*)", text)
    return found[1] if found else ""


def shown(version: Version) -> str:
    return ".".join(map(str, version))


def parse_version(text: str) -> Version | None:
    """The first x.y.z in a text such as `codex-cli 0.163.0`; a suffix (`-alpha.1`) is ignored."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
