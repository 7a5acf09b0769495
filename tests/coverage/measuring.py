"""A plugin of pytest (`-p tests.coverage.measuring`): notes which lines of src the tests of each folder run.

Only the processes of pytest are measured: what tests start as a program of its own does not count. `make check` runs
all tests so, and judges afterwards (`python -m tests.coverage`).
"""

import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
DATA = ROOT / ".coverage-data"
"""A file of each process."""

if "PYTEST_XDIST_WORKER" not in os.environ:
    shutil.rmtree(DATA, ignore_errors=True)

coverage = Coverage(data_file=str(DATA / "of"), data_suffix=True, source=[str(ROOT / "src/codex_mcp")])
coverage.start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What this test runs counts for its folder."""
    coverage.switch_context(item.path.parent.relative_to(TESTS).as_posix())
    return (yield)


def pytest_unconfigure() -> None:
    """Write what was seen."""
    coverage.stop()
    coverage.save()
