"""A server of the control socket that plays many agents: as busy as a test wants, and with whatever texts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.errors import request_failed
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.state.embedded.flock import NodeLock, socket_path
from codex_mcp.transports.local.channel import MIB, Bounds, LocalChannel
from codex_mcp.transports.local.sockets import listening
from codex_mcp.wire import control
from codex_mcp.wire.control_thread import ListSteps, Step, Steps, StepTold, TurnRow
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Request

NODE = "crowd"
TURN = "turn-1"

Row = dict[str, Any]


def row(number: int, **changes: Any) -> Row:
    """An agent that works."""
    name = f"agent-{number}"
    base: Row = {
        "codex_id": f"codex:{number:012x}",
        "identity": name,
        "thread_id": f"thread-{name}",
        "team": "crowd",
        "principal": "local",
        "cwd": f"/src/{name}",
        "status": "active",
        "thread_state": "busy",
        "last_active": "2027-01-15T07:59:00.000Z",
        "owner": {"node": NODE, "pid": 4711},
        "task": f"Work on part {number}",
        "doing": "thinking",
    }
    return base | changes


class Crowd:
    """A living node of a state folder: it holds its lock, and answers at its socket."""

    def __init__(self, state_dir: Path, rows: Sequence[Row]) -> None:
        self.rows = {each["codex_id"]: each for each in rows}
        self.questions: list[control.Question] = []
        self.steps: list[Step] = []
        """Of whatever thread is asked for; its turn runs."""
        self.asked_for: list[str] = []
        """The methods of all requests."""
        self.protocol = control.PROTOCOL
        state_dir.mkdir(parents=True, exist_ok=True)
        self._lock = NodeLock(str(state_dir), NODE)
        self._listener = listening(socket_path(str(state_dir), NODE))
        self._peers: set[Peer] = set()
        self._count = 0
        self.tasks = TaskSet()

    async def __aenter__(self) -> Self:
        self.tasks.spawn(self._accept(), name="crowd")
        return self

    async def __aexit__(self, *_: object) -> None:
        for peer in list(self._peers):
            await peer.aclose()
        await self.tasks.aclose()
        self._listener.close()
        self._lock.give_up()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            accepted, _ = await loop.sock_accept(self._listener)
            channel = LocalChannel(Bounds(64 * MIB))
            await loop.connect_accepted_socket(partial(_same, channel), accepted)
            peer = Peer(channel, Handlers(self._answer, lambda _: None), max_requests=1024)
            self._peers.add(peer)
            self.tasks.spawn(peer.run(), name="connection to the crowd")

    def _answer(self, request: Request) -> object:
        self.asked_for.append(request.method)
        match request.method:
            case control.HELLO if self.protocol != control.PROTOCOL:
                raise request_failed(control.OTHER_PROTOCOL, "this server speaks another protocol; upgrade it")
            case control.HELLO:
                return control.Greeting(
                    protocol=control.PROTOCOL,
                    node=NODE,
                    pid=4711,
                    host="here",
                    version="0",
                    team="crowd",
                    started_at=0.0,
                    generation=1,
                    may=[control.READ],
                )
            case control.FOLLOW:
                return control.Followed(at="0", agents=list(self.rows.values()), questions=self.questions)
            case control.STEPS:
                return self._part(msgspec.json.decode(request.params, type=ListSteps))
            case "ping":
                return {}
            case _:
                raise request_failed(METHOD_NOT_FOUND, f"the crowd does not know {request.method}")

    def _part(self, asked: ListSteps) -> Steps:
        total = len(self.steps)
        until = total if asked.before is None else max(0, min(asked.before, total))
        first = max(0, until - asked.limit)
        turn = TurnRow(id=TURN, status="inProgress", asked="Work", steps=total, started_at=1.0)
        return Steps(
            thread=asked.thread, turns=[turn], turn=TURN, steps=self.steps[first:until], first=first, total=total
        )

    def change(self, number: int, **changes: Any) -> None:
        """Tell followers of a row that has changed."""
        codex_id = f"codex:{number:012x}"
        self.rows[codex_id] = self.rows[codex_id] | changes
        self._tell(control.AGENTS, control.AGENT, self.rows[codex_id])

    def ask(self, *questions: control.Question) -> None:
        """Tell followers what is asked."""
        for each in questions:
            self.questions.append(each)
            self._tell(control.QUESTIONS, control.OPENED, each)

    def step(self, *steps: Step, thread: str) -> None:
        """Tell followers of steps that have ended."""
        for each in steps:
            numbered = msgspec.structs.replace(each, n=len(self.steps))
            self.steps.append(numbered)
            self._tell(control.THREAD + thread, control.ITEM_ENDED, StepTold(turn=TURN, step=numbered))

    def _tell(self, topic: str, kind: str, data: object) -> None:
        self._count += 1
        for peer in self._peers:
            event = {"at": f"{NODE}.{self._count}", "topic": topic, "kind": kind, "data": data}
            peer.notify(control.EVENT, event)


def _same(channel: LocalChannel) -> LocalChannel:
    return channel


@contextlib.asynccontextmanager
async def crowd(state_dir: Path, count: int = 50, **changes: Any) -> AsyncIterator[Crowd]:
    """So many agents, all working."""
    async with Crowd(state_dir, [row(number, **changes) for number in range(count)]) as playing:
        yield playing
