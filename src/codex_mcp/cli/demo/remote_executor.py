"""For `codex-mcp demo --remote`: a rendezvous on this machine, and an executor that only it can reach."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from typing import IO, Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import write_whole
from codex_mcp.base.processes.programs import OURSELVES
from codex_mcp.cli.demo.workshop import Workshop

ENVIRONMENT: Final = "demo"

END_SECONDS: Final = 10.0


@contextlib.contextmanager
def remote_executor(workshop: Workshop) -> Iterator[Sequence[str]]:
    """Start both; what is yielded are the flags for the server. Raises Explained."""
    token = secrets.token_urlsafe(32)
    tokens, token_file = workshop.folder / "rendezvous-tokens", workshop.folder / "rendezvous-token"
    write_whole(str(tokens), f"demo {token} register={ENVIRONMENT} reach={ENVIRONMENT}\n".encode())
    write_whole(str(token_file), token.encode())
    with contextlib.ExitStack() as undo:
        rendezvous = _started(undo, workshop, "rendezvous", "--port", "0", "--tokens", str(tokens))
        url = _line_with(rendezvous.stdout, "http")
        place = ("--remote", url, "--environment-id", ENVIRONMENT, "--token-file", str(token_file))
        executor = _started(undo, workshop, "exec-server", *place)
        _line_with(executor.stderr, "connected to")
        yield "--exec-server", f"relay+{url}/{ENVIRONMENT}", "--exec-server-token", str(token_file)


def _started(undo: contextlib.ExitStack, workshop: Workshop, *words: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*OURSELVES, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(workshop.environment),
        cwd=workshop.repository,
        text=True,
    )
    undo.callback(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _line_with(stream: IO[str] | None, words: str) -> str:
    """The first line with these words. Raises Explained if the program ends without it."""
    said = ""
    for line in stream or ():
        if words in line:
            return line.strip()
        said += line
    raise Explained(f"cannot show remote executors here: {said.strip() or 'a program ended at once'}")
