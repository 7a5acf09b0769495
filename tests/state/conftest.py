"""The worlds that the contract's tests run in."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.state.postgres import shared_postgres
from tests.support.state.worlds import InMemory, OnDisk, OnPostgres, StateWorld

KINDS: dict[str, Callable[[], StateWorld]] = {"memory": InMemory, "embedded": OnDisk, "postgres": OnPostgres}


@pytest.fixture(scope="session", autouse=True)
def postgres() -> Iterator[None]:
    """A server that is there before the first test and after the last one."""
    shared_postgres()
    yield
    shared_postgres().remove()


@pytest.fixture(params=KINDS)
def make_world(request: pytest.FixtureRequest) -> Callable[[], StateWorld]:
    """Makes a world of each kind, inside the test's event loop."""
    return KINDS[request.param]
