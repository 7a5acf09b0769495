"""The worlds that the contract's tests run in."""

from collections.abc import Callable

import pytest

from tests.support.state.worlds import InMemory, OnDisk, StateWorld

KINDS: dict[str, Callable[[], StateWorld]] = {"memory": InMemory, "embedded": OnDisk}


@pytest.fixture(params=KINDS)
def make_world(request: pytest.FixtureRequest) -> Callable[[], StateWorld]:
    """Makes a world of each kind, inside the test's event loop."""
    return KINDS[request.param]
