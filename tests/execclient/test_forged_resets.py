"""A relay that forges resets, which nobody can authenticate: a command ends or continues, and never hangs."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.errors import ExecServerError
from tests.support.patience import PATIENCE
from tests.support.rendezvous import ResettingRendezvous, RunningExecutor, as_harness, relay_url

ATTACHED = ": attached by"
"""In the executor's log, each time a session is opened or resumed."""

BOTH = pytest.mark.parametrize("towards", ["harness", "executor"])


@contextlib.asynccontextmanager
async def hostile(folder: Path) -> AsyncIterator[tuple[ResettingRendezvous, RunningExecutor]]:
    async with (
        ResettingRendezvous(folder / "rendezvous") as rendezvous,
        RunningExecutor(rendezvous.url, folder / "executor") as executor,
    ):
        await executor.said("connected to")
        yield rendezvous, executor


@BOTH
async def test_behind_whatever_frame_a_reset_comes_a_command_ends_or_continues(tmp_path: Path, towards: str) -> None:
    completed = 0
    async with hostile(tmp_path) as (rendezvous, _):
        for behind in itertools.count(1):
            before = rendezvous.resets
            await rendezvous.arm(towards, behind)
            with contextlib.suppress(ExecServerError):
                async with (
                    asyncio.timeout(2 * PATIENCE),
                    ExecServerClient(relay_url(rendezvous.url), as_harness()) as client,
                ):
                    result = await (await client.start(["sh", "-c", "echo one; echo two; exit 3"])).collect()
                    assert (result.stdout, result.exit_code) == (b"one\ntwo\n", 3)
                    completed += rendezvous.resets > before
            if rendezvous.resets == before:
                break
    assert completed, "no command survived a reset"


@BOTH
async def test_one_reset_does_not_cost_a_silent_command_its_session(tmp_path: Path, towards: str) -> None:
    gate = tmp_path / "gate"
    async with (
        hostile(tmp_path) as (rendezvous, executor),
        ExecServerClient(relay_url(rendezvous.url), as_harness()) as client,
    ):
        process = await client.start(["sh", "-c", f"until [ -e {gate} ]; do sleep 0.05; done; echo late"])
        await rendezvous.arm(towards, 0)
        await executor.said(ATTACHED, 2)
        gate.touch()
        async with asyncio.timeout(PATIENCE):
            assert (await process.collect()).stdout == b"late\n"
