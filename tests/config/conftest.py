"""What the tests of settings share."""

from pathlib import Path

import pytest

from tests.support.settings import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
