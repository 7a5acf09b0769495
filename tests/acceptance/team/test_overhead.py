"""What a server with a team adds to a request: processor time, and the time until the answer.

Delays are those of the fastest of many requests: a busy machine makes some requests slow, but never all; a delay that
we add to every request is in the fastest one too.
"""

import importlib.metadata
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from benchmarks import replay
from benchmarks.clients import CoreClient, McpClient
from benchmarks.lines import Program
from benchmarks.model import ModelProcess
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Setup
from tests.support.team.fixtures import Team
from tests.support.team.team_server import TeamServer, say

REQUESTS = 100
MOST_WORK = 0.010
"""Seconds of the processor for one request."""

MOST_DELAY = 0.010
"""Seconds that a request may take longer because of us, as the requirement says."""


def processor_time(server: TeamServer) -> float:
    """The seconds that the server itself has worked so far, which other programs on the machine do not change."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def fastest(deed: Callable[[], object], times: int = REQUESTS) -> float:
    """The seconds that the fastest of several runs took."""

    def seconds() -> float:
        began = time.perf_counter()
        deed()
        return time.perf_counter() - began

    return min(seconds() for _ in range(times))


@requirement("NFR-1")
async def test_a_request_needs_little_processor_time(team: Team) -> None:
    async with team() as (server, _model):
        agent = await server.start(say("hi"))
        before = processor_time(server)
        for number in range(REQUESTS):
            await server.answer(server.request("ping", request_id=f"ping-{number}"))
            await server.answer(server.call("codex_threads", {}, request_id=f"threads-{number}"))
        assert (processor_time(server) - before) / (2 * REQUESTS) < MOST_WORK
        before = processor_time(server)
        for number in range(REQUESTS // 10):
            await server.reply(agent["codex_id"], say(f"{number}"))
        assert (processor_time(server) - before) / (REQUESTS // 10) < 10 * MOST_WORK  # a turn has some twenty messages


@pytest.fixture
def recorded_codex(tmp_path: Path) -> Path:
    """A Codex that answers without delay with what the real one said once, so that all the delay is ours."""
    setup = Setup(tmp_path / "recording")
    setup.make()
    with ModelProcess() as model:
        (setup.codex_home / "config.toml").write_text(model.config)
        with CoreClient(Program([str(bundled_codex_path()), "app-server"], setup.env(), setup.work)) as core:
            core.initialize()
            recording = core.record()
    return replay.program(tmp_path / "replay", recording, importlib.metadata.version("openai-codex-cli-bin"))


@requirement("NFR-1")
def test_we_add_less_than_ten_milliseconds_to_a_request_and_to_a_turn(tmp_path: Path, recorded_codex: Path) -> None:
    setup = Setup(tmp_path / "ours", flags=["--codex-bin", str(recorded_codex)], command="serve")
    setup.make()
    bare = Program([str(recorded_codex), "app-server"], setup.env(), setup.work)
    with CoreClient(bare) as core, McpClient(Program(setup.argv(), setup.env(), setup.work)) as ours:
        core.initialize()
        ours.initialize()
        in_core, in_ours = core.start_thread(), ours.start_threads(1)
        without = fastest(lambda: core.reply(in_core))
        assert fastest(lambda: ours.ping(1)) < MOST_DELAY
        listing = {"name": "codex_threads", "arguments": {}}
        assert fastest(lambda: ours.answer(ours.request("tools/call", listing))) < MOST_DELAY
        assert fastest(lambda: ours.reply(in_ours)) - without < MOST_DELAY
