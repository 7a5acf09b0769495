"""docs/leading-agents.md: how a real Claude Code led three agents. `make transcript` writes it anew."""

import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import Json, Say, Step, Together, Use, Used
from tests.support.clients.claude_code import claude_code, codex, tool
from tests.support.repositories import repository
from tests.support.servers.mcp_server import Setup

FILE = Path(__file__).parents[3] / "docs/leading-agents.md"
SCRIPT = Path(__file__).parents[1] / "scripts/lead.toml"
AGENTS = ("parser", "guide", "fuzz")
"""The agent whose diff is read, the one that is steered, and the one that is interrupted."""

TASKS = ("Make parse() skip empty lines.", "Write USAGE.md.", "Fuzz the parser.")
OWN_PLACE = {"worktree": True, "sandbox": "workspace-write", "background": True}
STEER = tool("codex-reply", id="guide", prompt="Add a part on Windows.", when="steer", background=True)


class Led(NamedTuple):
    """What the model of Claude Code was told of each call, and the calls."""

    told: list[Used]
    calls: list[Use]


async def lead(folder: Path) -> Led:
    """Let Claude Code lead three agents in a repository, which is `work` in this folder."""
    async with ScriptedModel(load_script(SCRIPT)) as agents:

        async def plan(used: list[Used]) -> Step:
            match len(used):
                case 0:
                    return Together(
                        [codex(task, identity=name, **OWN_PLACE) for name, task in zip(AGENTS, TASKS, strict=True)]
                    )
                case 3:
                    for name in AGENTS:  # all are in the middle of their turns
                        await agents.wait_for_gate(name)
                    return STEER
                case 4:
                    return tool("codex_interrupt", id="fuzz")
                case 5:
                    return tool("codex_diff", id="parser")
                case 6:
                    agents.release("parser")
                    return tool("codex_wait", ids=list(AGENTS), mode="all")
                case 7:
                    return Together([tool("codex_close", id=name) for name in AGENTS])
                case _:
                    return Say("All done.")

        setup = Setup(folder, agents.codex_overrides(), command="serve")
        repository(setup.work, **{"parser.py": "def parse(text):\n    return text.split()\n"})
        command, *args = setup.argv()
        async with claude_code(setup, {"command": command, "args": args, "env": setup.env()}, plan) as desk:
            await desk.finish()
            return Led(desk.model.used, _calls(desk.model.requests[-1]))


def _calls(request: Json) -> list[Use]:
    """The calls of tools in the conversation of this request."""
    blocks = [block for each in request["messages"] if isinstance(each["content"], list) for block in each["content"]]
    return [
        Use(block["name"].removeprefix("mcp__codex__"), block["input"])
        for block in blocks
        if block["type"] == "tool_use"
    ]


HEAD = """# Leading agents

A real Claude Code led three agents of `codex-mcp serve` in a git repository. It started them in the background, each in
[a worktree](worktrees.md) of its own, [steered](steering.md) one, interrupted one, read a diff,
[waited](waiting.md) for all and closed them. Its model and that of the agents were [scripted](scripted-model.md);
everything else was real. These are all its calls and what its model was shown, without ids, tokens, times, lists of
files, and the texts of results with status `running`.

`make transcript` wrote this page from such a run.
"""
PARTS = (
    (3, "Three agents begin at once: no call waits for an agent."),
    (1, "The second agent learns in the middle of its turn what else is wanted."),
    (1, "The third agent is stopped. It stays, with what it has written."),
    (1, "What has the first agent done so far? It is still at work."),
    (1, "One call waits for all three. It does not repeat the turn that was interrupted."),
    (3, "The branches stay, to be merged or not. The worktree with an uncommitted file stays as well."),
)
"""How many calls belong together, and what they are for."""

KEPT = ("identity", "status", "content", "finished", "worktree", "branch", "commits", "log", "diffstat")
KEPT_AT_THE_END = ("path", "kept_because")


def page(led: Led) -> str:
    """The calls with what matters of their results, in Markdown."""
    parts, done = [HEAD], 0
    for count, purpose in PARTS:
        shown = [_shown(*each) for each in list(zip(led.calls, led.told, strict=True))[done : done + count]]
        parts.append(f"{purpose}\n\n```text\n" + "\n".join(shown) + "```\n")
        done += count
    return "\n".join(parts)


def steady(text: str) -> str:
    """A page without what differs between two runs: hashes, ids."""
    return re.sub(r"\b[\da-f]{7,}\b", "ID", text)


def _shown(call: Use, told: Used) -> str:
    result = told.text if call.tool == "codex_diff" else _lines(_cut(told.json))
    return f"{call.tool} {json.dumps(call.arguments)}\n" + "".join(f"    {line}\n" for line in result.splitlines())


def _cut(value: object) -> object:
    """What matters of a result."""
    if isinstance(value, list):
        return [_cut(each) for each in value]
    if not isinstance(value, dict):
        return re.sub(r"/\S*/(?=\.worktrees/)", ".../", value) if isinstance(value, str) else value
    is_running = value.get("status") == "running"
    names = [name for name in (*KEPT, *KEPT_AT_THE_END) if name in value and value[name] != []]
    return {name: _cut(value[name]) for name in names if not (is_running and name == "content")}


def _lines(value: object) -> str:
    """JSON with one line for each agent."""
    match value:
        case {"finished": [*turns]}:
            return "finished:\n" + "\n".join(f"  {json.dumps(turn)}" for turn in turns)
        case _:
            return json.dumps(value)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(page(asyncio.run(lead(Path(folder)))))
