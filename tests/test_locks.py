"""The lock files: pip installs exactly what they name."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path(__file__).parents[1] / "requirements" / "lock.txt"
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?==", re.MULTILINE)


def pinned() -> dict[str, set[str]]:
    """The locked packages, each with its locked extras."""
    found = PIN.findall(LOCK.read_text(encoding="utf-8"))
    return {canonicalize_name(name): {extra.strip() for extra in extras.split(",")} for name, extras in found}


def needed_by(name: str, extras: set[str]) -> list[Requirement]:
    """What an installed package requires on this platform; nothing if the lock holds it for another platform."""
    try:
        parsed = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return []
    return [one for one in parsed if not one.marker or any(one.marker.evaluate({"extra": extra}) for extra in extras)]


def test_every_extra_that_a_package_asks_for_is_in_the_lock_too() -> None:
    """Otherwise pip before 23.3 takes the newest release of that package instead of the locked one, and refuses it."""
    locked = pinned()
    assert len(locked) > 50
    missing = {
        f"{need.name}[{extra}], for {name}"
        for name, extras in locked.items()
        for need in needed_by(name, extras)
        for extra in need.extras
        if extra not in locked.get(canonicalize_name(need.name), set())
    }
    assert not missing
