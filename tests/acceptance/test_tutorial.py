"""Every call of docs/tutorial.md, one after the other, on one server with a team."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tests.support.servers.mcp_server import Json
from tests.support.team.team_server import structured, team_server

PAGE = (Path(__file__).parents[2] / "docs/tutorial.md").read_text()
BLOCK = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^([\w-]+) ({.*})\n    ({.*})$", re.MULTILINE)
SCRIPT = Path(__file__).with_name("tutorial.toml")


def calls() -> list[tuple[str, Json, Json]]:
    """Tool, arguments, and what the page shows of the result."""
    return [
        (tool, msgspec.json.decode(arguments), msgspec.json.decode(told))
        for block in BLOCK.findall(PAGE)
        for tool, arguments, told in CALL.findall(block)
    ]


def shown(found: object, expected: object) -> object:
    """Of a result only what the page shows."""
    match found, expected:
        case Mapping(), Mapping():
            return {key: shown(value, expected[key]) for key, value in found.items() if key in expected}
        case list(), list():
            return [shown(one, other) for one, other in zip(found, expected, strict=True)]
    return found


async def test_every_call_returns_what_the_page_shows(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=SCRIPT) as (server, model):
        (server.setup.work / "prices.py").write_text("total = sum([1, 2])\n")
        assert [tool for tool, _, _ in calls()] == [
            *("codex", "codex-reply", "codex-reply", "codex", "codex_wait", "codex_threads", "codex_close")
        ]
        for tool, arguments, told in calls():
            call = server.call(tool, arguments)
            if "NOTES.md." in arguments.get("prompt", ""):
                question = await server.question()
                assert not (server.setup.work / "NOTES.md").exists()
                server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}})
            if tool == "codex_wait":
                model.release("background")
            assert shown(structured(await server.result(call)), told) == told
        assert (server.setup.work / "NOTES.md").read_text() == "It adds up prices.\n"
