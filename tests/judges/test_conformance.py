"""The official conformance suite: the core with the suite's fixtures passes what is required, the product what it can.

The lists of failures in tests/conformance say what the product does not do, and why; what it begins to do must be taken
off its list, or the suite fails.
"""

import sys
from pathlib import Path

import pytest

from tests.support.http_server import ChildServer, http_server
from tests.support.judges import Ended, node, package, run
from tests.support.mcp_server import TOUR, Setup

ROOT = Path(__file__).parents[2]
REVISIONS = ("2025-11-25", "2026-07-28")

TASK_SCENARIOS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
"""Of an extension, so that no revision requires them. The suite has one more, which skips itself."""


async def judged(folder: Path, server: ChildServer, *flags: str) -> Ended:
    """Run the suite on a server."""
    suite = package("@modelcontextprotocol/conformance") / "dist/index.js"
    url = f"http://localhost:{server.port}/mcp"
    setup = Setup(folder / "suite")
    setup.make()
    return await run([node(), str(suite), "server", "--url", url, *flags], setup, {})


def core(folder: Path) -> ChildServer:
    """The core of the product with the suite's fixtures."""
    setup = Setup(folder, environment={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"})
    return ChildServer(setup, [sys.executable, "-m", "tests.conformance", "--home", str(setup.codex_home)])


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_core_passes_what_a_revision_requires(tmp_path: Path, revision: str) -> None:
    async with core(tmp_path) as server:
        verdict = await judged(tmp_path, server, "--requirements", revision)
    assert verdict.code == 0, verdict.stdout[-5000:]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_product_passes_but_for_what_it_has_no_use_for(tmp_path: Path, revision: str) -> None:
    async with http_server(Setup(tmp_path, flags=["--scripted", str(TOUR)])) as server:
        failures = ROOT / f"tests/conformance/product_failures_{revision}.yml"
        verdict = await judged(tmp_path, server, "--requirements", revision, "--expected-failures", str(failures))
    assert verdict.code == 0, verdict.stdout[-5000:]


@pytest.mark.parametrize("scenario", TASK_SCENARIOS)
async def test_the_core_passes_the_scenarios_of_the_tasks_extension(tmp_path: Path, scenario: str) -> None:
    async with core(tmp_path) as server:
        verdict = await judged(tmp_path, server, "--scenario", scenario)
    assert verdict.code == 0, verdict.stdout[-5000:]
    assert "SUCCESS" in verdict.stdout
