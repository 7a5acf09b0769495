"""What a server costs that has much to remember, beside one ("theirs") with little: agents, open or closed, and mail.

A recorded Codex takes no time, so that only our own work counts. Every number is the processor time of the server, of
all its threads, including what it writes after the answer; only the end of a server is told in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks import replay
from benchmarks.clients import CoreClient, McpClient, Stopwatch
from benchmarks.memory import can_be_measured, cpu_of_process
from benchmarks.place import Place
from benchmarks.plot import Line, Panel, drawing
from benchmarks.rows import Aim, Row, Unit
from benchmarks.samples import quantile
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.state.contract import Claim
from codex_mcp.state.embedded.store import open_store
from codex_mcp.team.agent import Agent, AgentState, AgentStatus
from codex_mcp.team.records.agent_store import write_agent

MOST_AGENTS = "1000"
"""What a server allows at most; those that the measurement starts must fit as well."""

AGENTS = (10, 100, 900)
QUICK_AGENTS = AGENTS[:2]
MESSAGES = (10, 1_000, 10_000)
QUICK_MESSAGES = MESSAGES[:2]
ROUNDS = 5
SECONDS = 60.0
AT_ONCE = 10
"""Agents that are started at once before the measurement, and deeds that one sample is the mean of."""

REST = 0.4
"""Seconds after which a server has written what it writes after its last answer."""

LONGEST_END = 60.0
"""Seconds."""

FLAT = Aim(times_theirs=1.5)

Deed = Callable[[int], None]


class Grown:
    """One server with so many agents or messages, and what is done with it."""

    def __init__(self, place: Place, codex: Path, name: str, size: int) -> None:
        self.size = size
        self.program = place.team(
            *("--codex-bin", str(codex), "--summary-timeout", "0", "--max-concurrent-threads", MOST_AGENTS),
            home=f"growth-{name}-{size}",
        )
        self.home = Path(self.program.env["HOME"])
        self._client: McpClient | None = None
        self._thread = ""

    @property
    def client(self) -> McpClient:
        assert self._client is not None, "it has been started"
        return self._client

    def start(self, agents: int) -> None:
        """Start the server with so many agents."""
        client = self._client = McpClient(self.program)
        client.initialize()
        threads = client.start_threads(1)
        self._thread = threads[0]
        while len(threads) < agents:
            threads += client.start_threads(min(AT_ONCE, agents - len(threads)))

    def stop(self) -> float:
        """End the server; how many milliseconds that took."""
        watch = Stopwatch()
        self.client.end(LONGEST_END)
        return watch.milliseconds()

    def close(self) -> None:
        """End the server in any case."""
        if self._client is not None:
            self._client.__exit__(None, None, None)

    def new_agent(self, _: int) -> None:
        """Start one more agent."""
        self.client.start_threads(1)

    def reply(self, _: int) -> None:
        """Give a turn to the first agent."""
        self.client.reply([self._thread])

    def pending(self, _: int) -> None:
        """Count the unread messages of the first agent."""
        call = {"name": "atm_pending_count", "arguments": {"identity": "codex"}}
        self.client.answer(self.client.request("tools/call", call))

    def deliver(self, number: int) -> None:
        """Write a message to the first agent, and wait until its turn has begun and it is marked."""
        mail = {"from": f"sender-{time.monotonic_ns()}", "text": "hello", "msg_id": f"new-{time.monotonic_ns()}"}
        text = self.inbox.read_bytes().rstrip().removesuffix(b"]")
        draft = self.inbox.with_suffix(".tmp")
        draft.write_bytes(text + b"," + msgspec.json.encode({**mail, "read": False}) + b"]")
        draft.replace(self.inbox)
        while b'"read":false' in self.inbox.read_bytes()[-400:]:
            time.sleep(0.001)

    @property
    def inbox(self) -> Path:
        """Of the first agent."""
        return self.home / ".claude/teams/default/inboxes/codex.json"

    def fill_inbox(self) -> None:
        """Write the messages, all of them read."""
        self.inbox.parent.mkdir(parents=True)
        records = [
            {
                "from": "alice",
                "text": "x" * 300,
                "msg_id": str(n),
                "read": True,
                "timestamp": "2026-11-18T10:00:00.000Z",
            }
            for n in range(self.size)
        ]
        self.inbox.write_bytes(msgspec.json.encode(records))

    def fill_store(self) -> None:
        """Write the records of closed agents."""
        asyncio.run(_fill(str(self.home / ".config/atm/codex-sessions"), self.size))


async def _fill(state_dir: str, number: int) -> None:
    store = await open_store(state_dir)
    await store.leases.join()
    for n in range(number):
        claim = await store.leases.claim(f"codex:{n:012x}")
        assert isinstance(claim, Claim)
        agent = Agent(
            codex_id=claim.thread,
            identity=f"old-{n}",
            team="default",
            cwd=f"/srv/project-{n % 7}",
            started_at=1.7e9 + n,
            last_active=1.7e9 + n,
            thread_id=f"01a1dcb0-5e0e-7373-86f1-{n:012x}",
            repo_root="/srv/project",
            repo_name="project",
            branch="main",
            status=AgentStatus.CLOSED,
            thread_state=AgentState.CLOSED,
            turns=3,
            spec=ThreadSpec(cwd="/srv/project", developer_instructions="word " * 60),
        )
        await write_agent(store, claim, agent)
        await store.records.own("default", agent.identity, "local")
        await store.leases.release(claim)
    await store.aclose()


def run(place: Place) -> list[Row]:
    """In turn: each deed at each size."""
    if not can_be_measured():
        return []
    codex = _recorded(place)
    sizes = QUICK_AGENTS if place.effort.is_quick else AGENTS
    messages = QUICK_MESSAGES if place.effort.is_quick else MESSAGES
    groups = {
        "open agents": _open(place, codex, sizes),
        "closed agents": _closed(place, codex, sizes),
        "read messages": _mail(place, codex, messages),
    }
    if place.growth is not None:
        panels = [Panel(name, "times that with 10", [_line(*each) for each in found]) for name, found in groups.items()]
        place.growth.write_text(drawing("how many there are", panels))
    return [
        row
        for group, measured in groups.items()
        for name, found in measured
        for row in _rows(f"growth: {name} with {{}} {group}", found)
    ]


def _line(name: str, found: dict[int, list[float]]) -> Line:
    first = quantile(found[min(found)], 0.5)
    return Line(name, [(float(size), quantile(samples, 0.5) / first) for size, samples in found.items()])


def _rows(name: str, found: dict[int, list[float]]) -> list[Row]:
    first = min(found)
    return [
        Row(f"{name.format(f'{size:,}')}; theirs: with {first}", Unit.MILLISECONDS, found[first], samples, FLAT)
        for size, samples in found.items()
        if size != first
    ]


Found = tuple[str, dict[int, list[float]]]


def _open(place: Place, codex: Path, sizes: Sequence[int]) -> list[Found]:
    with contextlib.ExitStack() as stack:
        servers = [Grown(place, codex, "open", size) for size in sizes]
        for server in servers:
            stack.callback(server.close)
            server.start(server.size)
        found = _measured(place, servers, {"reply": Grown.reply, "new agent": Grown.new_agent})
        stops: dict[int, list[float]] = {server.size: [server.stop()] for server in servers}
    return [*found, ("time to end", stops)]


def _closed(place: Place, codex: Path, sizes: Sequence[int]) -> list[Found]:
    with contextlib.ExitStack() as stack:
        servers = [Grown(place, codex, "closed", size) for size in sizes]
        for server in servers:
            server.fill_store()
            stack.callback(server.close)
            server.start(1)
        return _measured(place, servers, {"reply": Grown.reply, "new agent": Grown.new_agent})


def _mail(place: Place, codex: Path, sizes: Sequence[int]) -> list[Found]:
    with contextlib.ExitStack() as stack:
        servers = [Grown(place, codex, "mail", size) for size in sizes]
        for server in servers:
            server.fill_inbox()
            stack.callback(server.close)
            server.start(1)
        return _measured(place, servers, {"delivery": Grown.deliver, "pending count": Grown.pending})


def _measured(place: Place, servers: Sequence[Grown], deeds: dict[str, Callable[[Grown, int], None]]) -> list[Found]:
    found: dict[str, dict[int, list[float]]] = {name: {each.size: [] for each in servers} for name in deeds}
    for deed in deeds.values():
        for server in servers:
            _processor_time(server, deed)  # warms up
    for _ in place.effort.rounds(ROUNDS, SECONDS):
        for name, deed in deeds.items():
            for server in servers:
                found[name][server.size].append(_processor_time(server, deed))
    return list(found.items())


def _processor_time(server: Grown, deed: Callable[[Grown, int], None]) -> float:
    time.sleep(REST)
    before = cpu_of_process(server.client.pid)
    for number in range(AT_ONCE):
        deed(server, number)
    time.sleep(REST)
    return (cpu_of_process(server.client.pid) - before) / AT_ONCE


def _recorded(place: Place) -> Path:
    with CoreClient(place.core()) as real:
        real.initialize()
        recording = real.record()
    return replay.program(place.folder / "replay growth", recording, importlib.metadata.version("openai-codex-cli-bin"))
