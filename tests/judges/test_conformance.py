"""The official conformance suite: the core with the suite's fixtures passes what is required, the product what it can.

The lists of failures in tests/conformance say what the product does not do, and why; what it begins to do must be taken
off its list, or the suite fails.
"""

import sys
from pathlib import Path

import pytest

from tests.support.clients.judges import Ended, node, package, run
from tests.support.http.http_server import ChildServer
from tests.support.servers.mcp_server import Setup

ROOT = Path(__file__).parents[2]
REVISIONS = ("2025-11-25", "2026-07-28")
SCRIPTED = ("--scripted", str(ROOT / "tests/conformance/script.toml"))

TASK_SCENARIOS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
)
"""Of an extension, so that no revision requires them. Of the suite's other three, one skips itself, one needs a tool
that cannot run without a task, and one a task that repeats what a person typed; the product has neither."""


async def judged(folder: Path, server: ChildServer, *flags: str) -> Ended:
    """Run the suite on a server."""
    suite = package("@modelcontextprotocol/conformance") / "dist/index.js"
    url = f"http://localhost:{server.port}/mcp"
    setup = Setup(folder / "suite")
    setup.make()
    return await run([node(), str(suite), "server", "--url", url, *flags], setup, {})


def but_for(what: str) -> list[str]:
    """The flags that name what is known to fail."""
    return ["--expected-failures", str(ROOT / f"tests/conformance/product_failures_{what}.yml")]


def product(folder: Path) -> ChildServer:
    """The product, whose `codex` the suite calls by its own names."""
    return ChildServer(_setup(folder), [sys.executable, "-m", "tests.conformance.product", "--port", "0", *SCRIPTED])


def core(folder: Path) -> ChildServer:
    """The core of the product with the suite's fixtures."""
    setup = _setup(folder)
    return ChildServer(setup, [sys.executable, "-m", "tests.conformance", "--home", str(setup.codex_home)])


def _setup(folder: Path) -> Setup:
    return Setup(folder, environment={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"})


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_core_passes_what_a_revision_requires(tmp_path: Path, revision: str) -> None:
    async with core(tmp_path) as server:
        verdict = await judged(tmp_path, server, "--requirements", revision)
    assert verdict.code == 0, verdict.stdout[-5000:]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_product_passes_but_for_what_it_has_no_use_for(tmp_path: Path, revision: str) -> None:
    async with product(tmp_path) as server:
        verdict = await judged(tmp_path, server, "--requirements", revision, *but_for(revision))
    assert verdict.code == 0, verdict.stdout[-5000:]


@pytest.mark.parametrize("scenario", TASK_SCENARIOS)
async def test_the_product_passes_the_scenarios_of_the_tasks_extension(tmp_path: Path, scenario: str) -> None:
    async with product(tmp_path) as server:
        verdict = await judged(tmp_path, server, "--scenario", scenario, *but_for("tasks"))
    assert verdict.code == 0, verdict.stdout[-5000:]
    assert "SUCCESS" in verdict.stdout
