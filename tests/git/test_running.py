"""A run of git ends with the process that has started it."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp.git import running
from tests.support.repositories import repository

RUN = """
import sys, threading
from codex_mcp.git.running import Git
folder, pipe = sys.argv[1:]
run = lambda: Git.sealed(folder, {}, {}).run("hash-object", pipe, patience=1000)
threading.Thread(target=run, daemon=True).start()
sys.stdin.read()
"""

LATE = """
import subprocess, threading
class Late(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        threading.Event().wait(1)  # the thread that has started git does not go on at once
subprocess.Popen = Late
"""

PATIENCE = 60


@pytest.mark.parametrize("before", ["", LATE], ids=["running", "starting"])
def test_a_git_that_waits_for_ever_ends_with_its_server(tmp_path: Path, before: str) -> None:
    folder, pipe = repository(tmp_path / "repo"), tmp_path / "pipe"
    os.mkfifo(pipe)
    server = subprocess.Popen([sys.executable, "-c", before + RUN, str(folder), str(pipe)], stdin=subprocess.PIPE)
    assert server.stdin is not None
    with pipe.open("wb"):  # git has opened it, and holds the only other end
        writer = os.open(pipe, os.O_WRONLY)
        try:
            server.stdin.close()
            assert server.wait(PATIENCE) == 0
            poll = select.poll()
            poll.register(writer, 0)
            assert poll.poll(PATIENCE * 1000), "git still reads"
        finally:
            os.close(writer)


GUARDED = """
import asyncio, sys, threading
from codex_mcp.codex.starting.guard import start_guard
from codex_mcp.git.running import Git
folder, pipe = sys.argv[1:]
async def main():
    assert await start_guard("a mark of no core") is not None
    run = lambda: Git.sealed(folder, {}, {}).run("hash-object", pipe, patience=1000)
    threading.Thread(target=run, daemon=True).start()
    await asyncio.Event().wait()
asyncio.run(main())
"""


def test_a_git_that_waits_for_ever_ends_with_a_server_that_was_killed(tmp_path: Path) -> None:
    folder, pipe = repository(tmp_path / "repo"), tmp_path / "pipe"
    os.mkfifo(pipe)
    argv = [sys.executable, "-c", GUARDED, str(folder), str(pipe)]
    with (
        subprocess.Popen(argv, stdin=subprocess.DEVNULL) as server,
        pipe.open("wb"),  # git has opened it, and holds the only other end
    ):
        writer = os.open(pipe, os.O_WRONLY)
        try:
            server.kill()
            poll = select.poll()
            poll.register(writer, 0)
            assert poll.poll(PATIENCE * 1000), "git still reads"
        finally:
            os.close(writer)


def test_a_reference_without_an_end_fills_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = repository(tmp_path / "repo")
    with (folder / ".git/refs/heads/main").open("wb") as file:
        file.truncate(512 * 1024**2)  # an unpacked repository can bring a link to /dev/zero
    monkeypatch.setattr(running, "MOST_MEMORY", 128 * 1024**2)
    ran = running.Git(str(folder)).run("rev-parse", "HEAD^{commit}", patience=PATIENCE)
    assert "Out of memory" in ran.errors
