"""Every example of docs/sessions.md, in its order, on one server: the document says what happens."""

import re
from pathlib import Path

import msgspec

from tests.support.servers.mcp_server import Json
from tests.support.sessions.scene import session_server

PAGE = Path(__file__).parents[3] / "docs/sessions.md"

TOOLS = {"codex", "listSessions", "review", "websearch", "ping", "help"}

ANYTHING = "…"


def examples() -> list[Json]:
    return [msgspec.json.decode(text) for text in re.findall(r"^```json\n(.*?)^```", PAGE.read_text(), re.M | re.S)]


def fits(found: object, told: object) -> bool:
    """Is everything there that the document tells?"""
    if isinstance(told, dict):
        return isinstance(found, dict) and all(key in found and fits(found[key], told[key]) for key in told)
    if isinstance(told, list):
        return isinstance(found, list) and len(found) == len(told) and all(map(fits, found, told))
    return found == told or (told == ANYTHING and isinstance(found, str) and bool(found))


async def test_every_example_is_true(tmp_path: Path) -> None:
    async with session_server(tmp_path) as (server, _):
        for example in examples():
            result = await server.run(example["call"]["name"], example["call"]["arguments"])
            assert fits(result, example["answer"]), (example, result)
            assert result.get("isError", False) == example["answer"].get("isError", False)


def test_every_tool_has_an_example() -> None:
    assert {example["call"]["name"] for example in examples()} == TOOLS
