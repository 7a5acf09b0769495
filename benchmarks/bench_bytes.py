"""What the model of a client has to read: the list of tools, and the result of a turn."""

from __future__ import annotations

from pathlib import Path

from benchmarks.clients import PROMPT, McpClient
from benchmarks.lines import Program
from benchmarks.place import JUDGES, CannotMeasure, Place
from benchmarks.rows import Aim, Row, Unit

LONG = "[[scene: long count=20000]]"
"""A prompt whose answer has 100,000 characters, which are 20,000 words."""

TEAM_AIM = Aim(at_most=8192)


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
    ]


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
