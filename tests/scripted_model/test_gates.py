"""A gate holds whoever comes until it is opened."""

import asyncio
from pathlib import Path

from codex_mcp.scripted_model.gates import Gates
from tests.support.patience import PATIENCE


async def test_a_gate_holds_everyone_until_it_is_opened_and_then_nobody() -> None:
    gates = Gates()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(gates.pass_through("a", None))
        group.create_task(gates.pass_through("a", None))
        other = group.create_task(gates.pass_through("b", None))
        await gates.wait_for("a", 2)
        await gates.wait_for("b", 1)
        assert gates.waiting() == {"a": 2, "b": 1}
        gates.open("a")
        await gates.pass_through("a", None)
        assert not other.done()
        gates.open("b")
    assert gates.waiting() == {}


async def test_a_gate_that_is_shut_again_holds_again() -> None:
    gates = Gates()
    gates.open("a")
    await gates.pass_through("a", None)
    gates.shut("a")
    gates.shut("never opened")
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        held = group.create_task(gates.pass_through("a", None))
        await gates.wait_for("a", 1)
        held.cancel()
    assert gates.waiting() == {}


async def test_a_file_opens_a_gate_too(tmp_path: Path) -> None:
    gates = Gates()
    file = tmp_path / "go"
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(gates.pass_through("a", str(file)))
        await gates.wait_for("a", 1)
        file.touch()
