"""Executors and harnesses of the newest Codex and of ours, in every combination, through our rendezvous."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from codex_mcp.execclient import relay_route
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.execclient.options import StartOptions
from codex_mcp.relay.liveness import Check, Liveness
from tests.execclient.test_relay_route import answer, output
from tests.support.agent_identity import TASK, check_registration, check_task_request, ended, issuer, services
from tests.support.clients.judges import newest_codex
from tests.support.exec import remote_codex_scenes as scenes
from tests.support.exec.exec_server import codex_exec_server
from tests.support.exec.remote_codex import (
    Way,
    over_our_bridge,
    reached,
    through_our_forwarder,
    through_relay,
    through_tls,
)
from tests.support.patience import PATIENCE
from tests.support.rendezvous import ONLINE, RunningExecutor, RunningRendezvous, TcpProxy, as_harness, relay_url

SCENES: list[scenes.Scene] = [
    scenes.commands_run_there,
    scenes.a_terminal_is_typed_into,
    scenes.patches_change_files_there,
    scenes.pictures_are_found_there,
    scenes.a_cut_in_the_middle_of_a_command_is_not_noticed,
]
"""Commands, terminals, patches, images, and a session that is resumed after a cut."""


def executor(name: str) -> list[str]:
    return (
        [sys.executable, "-m", "codex_mcp", "exec-server"] if name == "ours" else [str(newest_codex()), "exec-server"]
    )


@pytest.mark.parametrize("name", ["ours", "codex"])
@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("harness", [through_relay, over_our_bridge], ids=["codex", "ours"])
async def test_the_harness_plays_the_scene_on_the_executor(
    harness: Callable[[Sequence[str]], Way], scene: scenes.Scene, name: str, tmp_path: Path
) -> None:
    with reached(harness(executor(name))):
        await scene(tmp_path, newest_codex())


@pytest.mark.parametrize("scene", SCENES)
async def test_codex_works_on_its_own_exec_server_behind_our_forwarder(scene: scenes.Scene, tmp_path: Path) -> None:
    with reached(through_our_forwarder(codex_exec_server(newest_codex()))):
        await scene(tmp_path, newest_codex())


@pytest.mark.parametrize("name", ["ours", "codex"])
async def test_codex_reaches_the_executor_through_tls(name: str, tmp_path: Path) -> None:
    with reached(through_tls(executor(name))):
        await scenes.a_cut_in_the_middle_of_a_command_is_not_noticed(tmp_path, newest_codex())


async def test_our_client_uses_the_executor_of_codex(tmp_path: Path) -> None:
    async with (
        RunningRendezvous(tmp_path / "rendezvous") as rendezvous,
        TcpProxy(rendezvous.port) as wire,
        RunningExecutor(rendezvous.url, tmp_path / "executor", executor("codex")) as there,
    ):
        await rendezvous.said(ONLINE)
        async with ExecServerClient(relay_url(wire.url), as_harness()) as client:
            process = await client.start(["sh", "-c", "pwd; echo wrong >&2; exit 7"])
            assert sorted((await output(process)).splitlines()) == sorted([str(there.home).encode(), b"wrong"])
            assert await process.wait() == 7
            terminal = await client.start(["sh", "-c", "read x; echo [$x]"], StartOptions(tty=True))
            await terminal.write(b"typed\n")
            assert b"[typed]" in await output(terminal)
            await client.files.write_file(str(there.home / "file"), bytes(1_000_000))
            assert await client.files.read_file(str(there.home / "file")) == bytes(1_000_000)
            talking = await client.start(
                ["sh", "-c", "while read x; do echo got $x; done"], StartOptions(pipe_stdin=True)
            )
            await answer(talking, "before")
            wire.cut()
            await answer(talking, "after the session was resumed")


async def test_the_executor_of_codex_answers_whether_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_thrice = asyncio.Event()
    checks: list[Check] = []

    class Impatient(Liveness):
        """Asks as soon as the last question is answered."""

        def __init__(self, now: float) -> None:
            super().__init__(now, quiet=0.1, answer=PATIENCE)

        def check(self, opened: int, now: float, *, is_reading: bool) -> Check:
            checks.append(found := super().check(opened, now, is_reading=is_reading))
            if checks.count(Check.ASK) == 3:
                asked_thrice.set()
            return found

    monkeypatch.setattr(relay_route, "Liveness", Impatient)
    async with (
        RunningRendezvous(tmp_path / "rendezvous") as rendezvous,
        RunningExecutor(rendezvous.url, tmp_path / "executor", executor("codex")),
    ):
        await rendezvous.said(ONLINE)
        async with ExecServerClient(relay_url(rendezvous.url), as_harness()) as client, asyncio.timeout(2 * PATIENCE):
            await asked_thrice.wait()
            assert (await client.environment_status()).status == "ready"
    assert Check.LOST not in checks


@pytest.mark.parametrize("form", ["task_id", "encrypted_task_id"])
async def test_an_agent_identity_is_proved_as_by_codex(tmp_path: Path, form: str) -> None:
    who = issuer()
    task = {form: who.sealed_task() if form.startswith("encrypted") else TASK}
    sent = []
    for name in ("ours", "codex"):
        (tmp_path / name).mkdir()
        async with services(who.keys(), task) as there:
            await ended(executor(name), there, who.token(), tmp_path / name)
            (asked,), (registered,) = there.seen("task/register"), there.seen("build-1/register")
            check_task_request(asked, who)
            check_registration(registered, who)
            sent.append([(visit.method, visit.path) for visit in there.web.visits])
    assert sent[0] == sent[1]
