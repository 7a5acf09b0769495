"""Tests say which requirements of the team they show; tests/test_requirements.py checks that every one has a test."""

from collections.abc import Callable
from typing import TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., object])


def requirement(*names: str) -> Callable[[Test], Test]:
    """Mark a test as the proof of these requirements."""

    def marked(test: Test) -> Test:
        marks: Test = pytest.mark.requirement(*names)(test)
        return marks

    return marked
