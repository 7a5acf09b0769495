"""The dashboard: what a browser loads, what a page costs the server, and what followers add to a turn."""

from __future__ import annotations

import gzip
import importlib.metadata
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import replay
from benchmarks.clients import CoreClient, McpClient, Stopwatch
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit
from codex_mcp.control.asked import Asked
from codex_mcp.dashboard import rendering
from codex_mcp.dashboard.rendering import Frame
from codex_mcp.dashboard.views.facts import AgentFacts, FleetFacts, RunBy
from codex_mcp.dashboard.views.jumps import jumps
from codex_mcp.dashboard.views.pages import fleet_page, needs_page
from codex_mcp.dashboard.views.rows import looked_at
from codex_mcp.wire import control

FOLLOWERS = 10
ROUNDS = 1000
SECONDS = 20.0
WARM_UP = 20
RENDERED = 50

NOW = 1_800_000_000.0
KIB = 1024

TAG = re.compile(rb"<[a-z]")


def run(place: Place) -> list[Row]:
    """Sizes and render times do not need a server; turns are those of a recorded Codex."""
    return [*_sizes(), *_rendered(), _followed(place)]


def _sizes() -> list[Row]:
    files = {file.name: len(gzip.compress(file.body)) for file in rendering.static_files().values()}
    visit = sum(size for name, size in files.items() if name != "favicon-need.svg")
    fleet = {count: _fleet(facts_of(count)) for count in (3, 50)}
    return [
        _bytes("app.js, gzipped", files["app.js"], 8 * KIB),
        _bytes("app.css, gzipped", files["app.css"], 10 * KIB),
        _bytes("first visit of Fleet, 3 agents, gzipped", visit + len(gzip.compress(fleet[3])), 32 * KIB),
        _bytes("first visit of Fleet, 50 agents, gzipped", visit + len(gzip.compress(fleet[50])), 36 * KIB),
        Row("elements of Fleet, 3 agents", Unit.ELEMENTS, [], [_elements(fleet[3])], Aim(at_most=1000)),
        Row("elements of Fleet, 50 agents", Unit.ELEMENTS, [], [_elements(fleet[50])], Aim(at_most=2000)),
    ]


def _bytes(what: str, size: int, most: int) -> Row:
    return Row(what, Unit.BYTES, [], [size], Aim(at_most=most))


def _elements(page: bytes) -> int:
    return len(TAG.findall(page))


def _rendered() -> list[Row]:
    facts = facts_of(50)
    return [
        Row(
            "processor time to render Fleet of 50 agents",
            Unit.MILLISECONDS,
            [],
            _times(lambda: _fleet(facts)),
            Aim(at_most=5),
        ),
        Row(
            "processor time to render a question",
            Unit.MILLISECONDS,
            [],
            _times(lambda: _question(facts)),
            Aim(at_most=3),
        ),
    ]


def _times(deed: Callable[[], object]) -> list[float]:
    deed()
    return [_processor(deed) for _ in range(RENDERED)]


def _processor(deed: Callable[[], object]) -> float:
    """The processor time, in milliseconds: other programs of the machine do not count."""
    began = time.process_time()
    deed()
    return 1000 * (time.process_time() - began)


def _timed(deed: Callable[[], object]) -> float:
    watch = Stopwatch()
    deed()
    return watch.milliseconds()


def frame_of(facts: FleetFacts, page: str) -> Frame:
    offered = jumps(looked_at(facts, unseen, NOW), facts)
    return Frame(page=page, csrf="x" * 22, is_signed_in=True, may_control=True, now=NOW, jumps=offered)


def unseen(_: AgentFacts) -> bool:
    return False


def _fleet(facts: FleetFacts) -> bytes:
    return rendering.fleet(fleet_page(facts, unseen, NOW), frame_of(facts, "fleet"))


def _question(facts: FleetFacts) -> bytes:
    return rendering.needs(needs_page(facts, unseen, NOW), frame_of(facts, "needs-you"))


def question(question_id: str) -> control.Question:
    """What an agent of the facts asks."""
    return control.Question(
        id=question_id,
        kind="exec",
        state="open",
        agent="agent-0",
        thread="thread-0",
        principal="local",
        message="Allow it?",
        fields={"command_line": "/bin/bash -lc 'git push origin HEAD'", "cwd": "/src/shop"},
        offered=[control.Offer("approved", "Allow this once"), control.Offer("denied", "Deny")],
        asked_at=NOW - 60,
        digest="0" * 32,
    )


def facts_of(count: int) -> FleetFacts:
    return FleetFacts(
        [_agent(number) for number in range(count)],
        [Asked(question("0123456789abcdef/question-1"), "node", "server process 1")],
    )


def _agent(number: int) -> AgentFacts:
    return AgentFacts(
        codex_id=f"codex:{number:012x}",
        identity=f"agent-{number}",
        thread_id=f"thread-{number}",
        cwd="/src/shop",
        repo_name="shop",
        branch=f"codex/agent-{number}",
        role="backend",
        last_active="2027-01-15T07:59:00.000Z",
        thread_state="busy" if number % 2 else "idle",
        owner=RunBy("node", 1),
        task=f"Move the webhooks to the outbox, part {number}",
        doing=f"running make test-{number}",
        said="The tests pass.",
        tokens=1000 * number,
        added=number,
        removed=number,
    )


def recorded_codex(place: Place, folder: str) -> Path:
    """A program that answers as Codex did when it was recorded."""
    with CoreClient(place.core()) as real:
        real.initialize()
        recording = real.record()
    return replay.program(place.folder / folder, recording, importlib.metadata.version("openai-codex-cli-bin"))


def turns_of(place: Place, servers: Sequence[McpClient]) -> tuple[list[float], list[float]]:
    """Milliseconds of the turns of two servers, each first as often as the other."""
    turns: tuple[list[float], list[float]] = ([], [])
    threads = [server.start_threads(1) for server in servers]
    for number in range(WARM_UP + ROUNDS):
        both = list(zip(servers, threads, turns, strict=True))
        for server, thread, found in both if number % 2 else reversed(both):
            took = _timed(partial(server.reply, thread))
            if number >= WARM_UP:
                found.append(took)
        if number >= WARM_UP and sum(turns[0]) > 1000 * SECONDS * (0.2 if place.effort.is_quick else 1.0):
            break
    return turns


def _followed(place: Place) -> Row:
    """A turn while somebody follows everything, beside one while nobody does."""
    flags = ("--codex-bin", str(recorded_codex(place, "replay dashboard")), "--summary-timeout", "0")
    homes = ("nobody-follows", "followed")
    with McpClient(place.team(*flags, home=homes[0])) as alone, McpClient(place.team(*flags, home=homes[1])) as other:
        for server in (alone, other):
            server.initialize()
        other.start_threads(1)
        state_dir = place.home(homes[1]) / ".config/atm/codex-sessions"
        argv = [sys.executable, "-m", "benchmarks.followers", str(state_dir), str(FOLLOWERS)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as followers:
            assert followers.stdout is not None
            followers.stdout.readline()
            turns = turns_of(place, (alone, other))
            followers.communicate()
    what = f"a recorded turn with {FOLLOWERS} followers; theirs: nobody follows"
    return Row(what, Unit.MILLISECONDS, *turns, aim=Aim(times_theirs=1.05))
