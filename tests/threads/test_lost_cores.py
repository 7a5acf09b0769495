"""Cores that end, hang or say what cannot be read: every turn in them fails with the reason, and the next one runs."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.codex.core import CoreError, ThreadSpec
from codex_mcp.codex.supervisor import CoreLaunch, Launcher
from codex_mcp.threads.record import Status
from codex_mcp.threads.threads import Threads
from tests.support.core.cores import no_pace, scripted_threads, settings_below
from tests.support.patience import PATIENCE
from tests.threads.test_thread import GATE, end, open_thread, say, send_core, submit

SPEC = ThreadSpec(config={"model_provider": "none"})
"""With a provider of its own a thread is started without asking first who is signed in."""

CORE = """
import json, os, signal, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == LAST:
        LAST_DEED
        signal.pause()
    answer = {"userAgent": "codex/0", "thread": {"id": "t"}, "cwd": "/", "config": {}}
    if "id" in message:
        print(json.dumps({"id": message["id"], "result": answer}), flush=True)
"""
"""A program that answers as the app-server does, until it is asked for its last deed."""

LONG = "'y' * 100_000"


def core(last: str, deed: str) -> Launcher:
    script = CORE.replace("LAST_DEED", deed).replace("LAST", repr(last))

    async def launch() -> CoreLaunch:
        return CoreLaunch(argv=[sys.executable, "-c", script], environment={"PATH": os.environ["PATH"]})

    return launch


@contextlib.asynccontextmanager
async def threads_on(launch: Launcher, folder: Path) -> AsyncIterator[Threads]:
    settings = settings_below(folder, max_message_bytes=65536)
    threads = Threads(settings.core, settings.calls, launch, no_pace)
    try:
        yield threads
    finally:
        async with asyncio.timeout(PATIENCE):
            await threads.aclose()


async def test_a_core_that_does_not_answer_is_stopped_with_all_its_turns_and_followed_by_another(
    tmp_path: Path,
) -> None:
    async with scripted_threads(tmp_path, request_timeout=5) as (threads, model):
        busy, idle = await open_thread(threads, tmp_path), await open_thread(threads, tmp_path)
        assert (await end(submit(idle, say("first")))).content == "first"  # Codex writes down a thread with a turn
        running = submit(busy, GATE)
        await model.wait_for_gate("gate")
        send_core(threads, signal.SIGSTOP)
        asked = submit(idle, say("never"))
        waits = submit(idle, say("waits behind it"))
        silence = "Codex did not answer turn/start within 5 seconds and was stopped"
        assert (await end(asked)).content.startswith(silence)
        assert (await end(running)).content.startswith(silence)
        assert (await end(waits)).content == "waits behind it"
        assert threads.supervisor.last_exit == "did not answer turn/start within 5 seconds"
        model.release("gate")
        assert (await end(submit(busy, say("here too")))).content == "here too"
        assert threads.supervisor.starts == 2


@pytest.mark.parametrize(
    ("deed", "how"),
    [
        ("os._exit(7)", "exit code 7"),
        (
            "print('Error: out of luck\\n  6: <unknown>', file=sys.stderr); sys.exit(3)",
            "exit code 3: Error: out of luck",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal SIGSEGV"),
    ],
)
async def test_a_core_that_ends_between_the_prompt_and_the_turn_says_how_it_ended(
    tmp_path: Path, deed: str, how: str
) -> None:
    async with threads_on(core("turn/start", deed), tmp_path) as threads:
        outcome = await end(submit(await threads.start(SPEC), "go"))
        assert outcome.status is Status.FAILED
        assert outcome.content.startswith(f"Codex ended unexpectedly ({how}).")


async def test_so_does_one_that_ends_while_a_thread_is_started(tmp_path: Path) -> None:
    async with threads_on(core("thread/start", "os._exit(7)"), tmp_path) as threads:
        with pytest.raises(CoreError, match=r"\(exit code 7\)"):
            await threads.start(SPEC)


@pytest.mark.parametrize(
    ("deed", "why"),
    [
        (f"print({LONG}, flush=True)", "Codex sent what cannot be read"),
        (
            f"""print(json.dumps({{"id": message["id"], "result": {{"x": {LONG}}}}}), flush=True)""",
            "Codex's answer to turn/start is too long",
        ),
    ],
)
async def test_a_core_whose_words_are_too_long_to_be_told_apart_is_stopped(tmp_path: Path, deed: str, why: str) -> None:
    async with threads_on(core("turn/start", deed), tmp_path) as threads:
        outcome = await end(submit(await threads.start(SPEC), "go"))
        assert outcome.status is Status.FAILED
        assert outcome.content.startswith(why)
        assert "the message is larger than 65536 bytes" in outcome.content
