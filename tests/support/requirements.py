"""The requirements of the team, from tests/requirements.toml, and the mark for tests that show one to be met."""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

Test = TypeVar("Test", bound=Callable[..., object])

FILE = Path(__file__).parents[1] / "requirements.toml"


class Requirement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the file."""

    text: str
    deviation: str | None = None
    """What the product does differently, and why."""
    waits_for: str | None = None
    """A feature that does not exist yet."""


@cache
def requirements() -> Mapping[str, Requirement]:
    """Every requirement by its number."""
    return msgspec.convert(tomllib.loads(FILE.read_text(encoding="utf-8")), dict[str, Requirement])


def requirement(*names: str) -> Callable[[Test], Test]:
    """Mark a test as the proof of these requirements."""

    def marked(test: Test) -> Test:
        marks: Test = pytest.mark.requirement(*names)(test)
        return marks

    return marked
