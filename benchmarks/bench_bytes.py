"""What the model of a client has to read: the list of tools, and the result of a turn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.clients import PROMPT, McpClient
from benchmarks.lines import Program
from benchmarks.place import JUDGES, CannotMeasure, Place
from benchmarks.rows import Aim, Row, Unit

LONG = "[[scene: long count=20000]]"
"""A prompt whose answer has 100,000 characters, which are 20,000 words."""

TEAM_AIM = Aim(at_most=8192)

AGENTS = 10
WORK = "[[scene: work seconds={}]]"
STEP = 1.0
"""Seconds between the answers of two agents, in the place of three minutes."""

WAITING_AIM = Aim(at_most=3072)


def run(place: Place) -> list[Row]:
    """Each once: these numbers do not vary."""
    theirs, ours, team = place.theirs(), place.ours(), place.team("--summary-timeout", "0")
    wrapper, sessions = place.node("wrapper", _wrapper()), place.ours("--tools", "sessions")
    listed, result = _tools, _result
    return [
        _row("tools/list", listed(theirs), listed(ours)),
        _row("tools/list of a team; theirs has no team", listed(theirs), listed(team), TEAM_AIM),
        _row("tools/list of named sessions; theirs is codex-mcp-server 1.4.10", listed(wrapper), listed(sessions)),
        _row("result of a short answer", result(theirs), result(ours)),
        _row("result of a short answer in a team; theirs has no team", result(theirs), result(team)),
        _row("result of an answer with 20,000 words", result(theirs, LONG), result(ours, LONG)),
        _row("the same for Claude Code", result(theirs, LONG), result(ours, LONG, "claude-code")),
        *(_waiting_row(team, client, title, minutes) for client, (title, minutes) in LEADS.items()),
    ]


LEADS = {"claude-code": ("Claude Code", None), "codex-mcp-client": ("Codex", 4)}
"""Clients that lead, and after how many minutes without news a `codex_wait` of theirs returns."""


def _waiting_row(team: Program, client: str, title: str, minutes: int | None) -> Row:
    what = f"codex_wait of {AGENTS} agents in 30 minutes, for each beside its answer, {title}"
    return Row(what, Unit.BYTES, [], [_waiting(team, client, 0 if minutes is None else 30 // minutes)], WAITING_AIM)


def _waiting(team: Program, client: str, without_news: int) -> float:
    """The bytes of all results of `codex_wait`, without the answers. So many of its calls end without news."""
    with McpClient(team) as server:
        server.initialize(client)
        began = time.monotonic()
        for number in range(AGENTS):
            prompt = WORK.format(round(STEP * (number + 1) + time.monotonic() - began, 1))
            _called(server, "codex", identity=f"agent-{number}", prompt=prompt, background=True)
        total, told = 0, 0
        while told < AGENTS:
            if without_news > 0:
                without_news -= 1
                result, _ = _waited(server, **{"timeout-seconds": 0})
                total += result
            result, answers = _waited(server)
            total, told = total + result, told + answers
        for number in range(AGENTS):
            _called(server, "codex_close", id=f"agent-{number}")
        return total / AGENTS


def _waited(server: McpClient, **arguments: object) -> tuple[int, int]:
    """The bytes of a result of `codex_wait` without the answers in it, and how many these are."""
    size, result = _called(server, "codex_wait", **arguments)
    finished = result["structuredContent"]["finished"]
    return size - sum(2 * len(each["content"]) for each in finished), len(finished)


def _called(server: McpClient, tool: str, **arguments: object) -> tuple[int, Any]:
    answer = server.answer(server.request("tools/call", {"name": tool, "arguments": arguments}))
    return len(bytes(answer)), msgspec.json.decode(answer)


def _row(what: str, theirs: int, ours: int, aim: Aim | None = None) -> Row:
    return Row(what, Unit.BYTES, [theirs], [ours], aim)


def _wrapper() -> Path:
    path = JUDGES / "codex-mcp-server/dist/index.js"
    if not path.exists():
        raise CannotMeasure(f"cannot find {path}; run make judges first")
    return path


def _tools(program: Program) -> int:
    with McpClient(program) as server:
        server.initialize()
        return len(bytes(server.answer(server.request("tools/list", {}))))


def _result(program: Program, prompt: str = PROMPT, client: str = "benchmarks") -> int:
    with McpClient(program) as server:
        server.initialize(client)
        call = server.request("tools/call", {"name": "codex", "arguments": {"prompt": prompt}})
        return len(bytes(server.answer(call)))
