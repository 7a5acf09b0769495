"""A rendezvous and the executors that register there, for measurements of the relay."""

from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from subprocess import DEVNULL, PIPE, Popen

from benchmarks.lines import NoAnswer, Program
from benchmarks.place import Place
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.relay.registry_client import RegistryClient

TOKEN = "the-token-of-the-benchmark"
PATIENCE = 30.0
"""Seconds until a program that should start is taken for one that does not."""

OPTIONS = ExecServerClientConnectOptions(bearer_token=TOKEN)


@contextmanager
def a_rendezvous(place: Place, tokens: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Its address and its process. Each of these principals may do everything."""
    path = place.folder / "tokens"
    path.write_text("".join(f"{name} {token} register=* reach=*\n" for name, token in tokens.items()))
    path.chmod(0o600)
    with _running(place.rendezvous("--tokens", str(path))) as process:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        url = process.stdout.readline().decode().strip() if ready else ""
        if not url.startswith("http"):
            raise NoAnswer("cannot measure: the rendezvous does not say where it listens")
        yield url, process.pid


@contextmanager
def behind_a_rendezvous(place: Place, executors: Mapping[str, Program]) -> Iterator[Sequence[str]]:
    """Their addresses, as our client dials them, once all are connected."""
    with ExitStack() as stack:
        url, _ = stack.enter_context(a_rendezvous(place, {"bench": TOKEN}))
        for environment_id, program in executors.items():
            flags = ("--remote", url, "--environment-id", environment_id)
            stack.enter_context(_running(Program([*program.argv, *flags], program.env, program.cwd)))
        _wait_for(RegistryClient(url, TOKEN), len(executors))
        yield [f"relay+{url}/{environment_id}" for environment_id in executors]


@contextmanager
def _running(program: Program) -> Iterator[Popen[bytes]]:
    environment = {**program.env, "CODEX_API_KEY": TOKEN}
    process = Popen(program.argv, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=environment, cwd=program.cwd)
    with process:
        try:
            yield process
        finally:
            process.terminate()


def _wait_for(registry: RegistryClient, count: int) -> None:
    end = time.monotonic() + PATIENCE
    while sum(each.is_online for each in asyncio.run(registry.environments())) < count:
        if time.monotonic() > end:
            raise NoAnswer("cannot measure: an executor does not connect to the rendezvous")
        time.sleep(0.05)
