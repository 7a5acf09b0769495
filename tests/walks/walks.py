"""The walks: what a client does to have a server go through each of them, and where each begins and ends."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Door, call, shake_hands, stateless
from tests.support.processes import all_ended
from tests.support.servers.mcp_server import SOURCES, TOUR, Json, McpServer, Setup
from tests.support.team.team_server import TeamServer, say, structured
from tests.walks.recorder import READ, WRITE, Line, read_log

ROOT = Path(__file__).parents[2]

ESCALATE = {"prompt": "[[scene: escalate]]", "approval-policy": "on-request", "sandbox": "read-only"}
ACCEPT = {"action": "accept", "content": {"decision": "approved"}}


@dataclass(frozen=True, slots=True)
class Count:
    """What happened in a server between two moments of a walk."""

    name: str
    entries: int
    changes: int
    """Function entries after one of another package, in the same thread."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of a walk: from the read that holds one text to the write that holds another."""

    name: str
    begins: str
    ends: str


@dataclass(slots=True)
class Recorded(Setup):
    """How a recorded server is started."""

    sources: Path = SOURCES

    @property
    def log(self) -> Path:
        """Where its functions are recorded."""
        return self.folder / "walk"

    def argv(self) -> list[str]:
        """The same flags, to the recorder."""
        python, _m, _module, *rest = Setup.argv(self)
        return [python, "-m", "tests.walks.recorder", str(self.log), *rest]

    def env(self) -> dict[str, str]:
        """With the sources to be measured, and the recorder."""
        return {**Setup.env(self), "PYTHONPATH": f"{self.sources}:{ROOT}"}

    def counts(self, *legs: Leg) -> list[Count]:
        """What was recorded of each leg; legs follow one another."""
        lines, counts = read_log(self.log), []
        for leg in legs:
            begin = _first(lines, READ, leg.begins, 0)
            end = _first(lines, WRITE, leg.ends, begin)
            counts.append(count(leg.name, lines[begin:end]))
            lines = lines[end:]
        return counts


def names(times: int) -> list[str]:
    """The ids of so many requests."""
    return [f"walk-{number}" for number in range(times)]


def _first(lines: list[Line], sign: str, text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if lines[number].what == sign and text in lines[number].text:
            return number
    raise AssertionError(f"nothing with {text!r} was {'read' if sign == READ else 'written'}")


def count(name: str, lines: list[Line]) -> Count:
    """Count the entries, and the changes between packages."""
    entered = [line for line in lines if line.what not in (READ, WRITE)]
    threads = {line.thread for line in entered}
    changes = 0
    for thread in threads:
        packages = [line.what for line in entered if line.thread == thread]
        changes += sum(one != other for one, other in pairwise(packages))
    return Count(name, len(entered), changes)


async def turn(folder: Path, sources: Path, times: int) -> list[Count]:
    """A turn over stdio."""
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Recorded(folder, model.codex_overrides(), sources=sources)
        async with McpServer(setup) as server:
            await server.initialize()
            for name in names(times):
                await server.result(server.call("codex", {"prompt": "hello"}, request_id=name))
    return setup.counts(*(Leg("turn over stdio: call to answer", f'"{n}"', f'"id":"{n}"') for n in names(times)))


async def pieces(folder: Path, sources: Path, times: int) -> list[Count]:
    """What each piece of an answer passes, for a client that takes events: from one line of Codex to the next."""
    script = folder / "deltas.toml"
    script.write_text(f'[scenes.hello]\nsteps = [{{ say = "{"word " * times}", deltas = {times} }}]\n')
    async with ScriptedModel(load_script(script)) as model:
        setup = Recorded(folder, model.codex_overrides(), ("--events", "standard"), sources=sources)
        async with McpServer(setup) as server:
            await server.initialize()
            await server.result(server.call("codex", {"prompt": "hello"}))
    parts: list[list[Line]] = [[]]
    for line in read_log(setup.log):
        if line.text == "read_frames":
            parts.append([])
        parts[-1].append(line)
    return [count("a piece of an answer", part) for part in parts if any(line.text == "delta" for line in part)]


async def approval_with_handshake(folder: Path, sources: Path, times: int) -> list[Count]:
    """A question on the stream of the call, answered by a POST."""
    async with _http(folder, sources) as (setup, server):
        door = await shake_hands(server.port, capabilities={"elicitation": {}})
        for name in names(times):
            async with door.stream("POST", call(name, "codex", ESCALATE)) as events:
                question = await events.until(method="elicitation/create")
                answer = {"jsonrpc": "2.0", "id": question["id"], "result": ACCEPT}
                assert (await door.ask("POST", answer)).status == 202
                await events.until(id=name)
    kind = "approval over HTTP, handshake"
    return setup.counts(
        *(
            leg
            for name in names(times)
            for leg in (
                Leg(f"{kind}: call to question", f'"{name}"', '"elicitation/create"'),
                Leg(f"{kind}: decision to answer", '"accept"', f'"id":"{name}"'),
            )
        )
    )


async def approval_stateless(folder: Path, sources: Path, times: int) -> list[Count]:
    """A question that is the answer to the call; the next request brings the decision."""
    async with _http(folder, sources) as (setup, server):
        for name in names(times):
            asked = await _post(server, call(name, "codex", ESCALATE))
            inputs = dict.fromkeys(asked["inputRequests"], ACCEPT)
            again = {"requestState": asked["requestState"], "inputResponses": inputs}
            done = await _post(server, call(f"{name} again", "codex", ESCALATE, **again))
            assert done["structuredContent"]["content"] == "It ran."
    kind = "approval over HTTP, stateless"
    return setup.counts(
        *(
            leg
            for name in names(times)
            for leg in (
                Leg(f"{kind}: call to question", f'"{name}"', '"input_required"'),
                Leg(f"{kind}: decision to answer", f'"{name} again"', f'"id":"{name} again"'),
            )
        )
    )


@contextlib.asynccontextmanager
async def _http(folder: Path, sources: Path) -> AsyncIterator[tuple[Recorded, ChildServer]]:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Recorded(folder, model.codex_overrides(), sources=sources)
        async with http_server(setup) as server:
            yield setup, server


async def _post(server: ChildServer, message: Json) -> Json:
    body, headers = stateless(message, elicitation={})
    async with Door(server.port).stream("POST", body, **headers) as events:
        result: Json = (await events.until(id=message["id"]))["result"]
        return result


async def process(folder: Path, sources: Path, times: int) -> list[Count]:
    """A process of the exec-server, from start to closed."""
    setup = Recorded(folder, (), ("--listen", "stdio"), {}, "exec-server", sources=sources)
    async with McpServer(setup) as server:
        await server.answer(server.request("initialize", {"clientName": "walk"}))
        server.notify("initialized")
        for name in names(times):
            fields = {"processId": name, "argv": ["/bin/echo", "hello"], "env": {}, "tty": False}
            await server.result(server.request("process/start", {**fields, "cwd": folder.as_uri()}))
            await server.wait_for(functools.partial(_is_closed, name))
    return setup.counts(*(Leg("process: start to closed", f'"{name}"', "process/closed") for name in names(times)))


def _is_closed(process_id: str, message: Json) -> bool:
    return message.get("method") == "process/closed" and message["params"]["processId"] == process_id


async def agent(folder: Path, sources: Path, times: int) -> list[Count]:
    """Agents whose server is killed, and which another server resumes."""
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Recorded(folder, model.codex_overrides(), (), {}, "serve", sources=sources)
        async with TeamServer(setup) as server:
            await server.initialize()
            ids = [await _agent(server, name, identity=name) for name in names(times)]
            os.kill(server.process.pid, signal.SIGKILL)
            await server.exit_code()
            await all_ended(setup.home)
        counts = setup.counts(*(Leg("agent: start to answer", f'"id":"{n}"', f'"id":"{n}"') for n in names(times)))
        async with TeamServer(setup) as server:
            await server.initialize()
            for name, codex_id in zip(names(times), ids, strict=True):
                assert await _agent(server, name, codex_id=codex_id) == codex_id
    legs = (Leg("agent after a kill: resume to answer", f'"id":"{n}"', f'"id":"{n}"') for n in names(times))
    return counts + setup.counts(*legs)


async def _agent(server: TeamServer, name: str, **named: str) -> str:
    result = await server.result(server.call("codex", {"prompt": say("done"), **named}, request_id=name))
    codex_id: str = structured(result)["codex_id"]
    return codex_id


Walk = Callable[[Path, Path, int], Awaitable[list[Count]]]
"""Gets a folder, the sources to measure, and how often to walk; the first time warms the server up."""

WALKS: tuple[Walk, ...] = (turn, approval_with_handshake, approval_stateless, process, agent)
