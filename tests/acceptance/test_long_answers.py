"""Long answers of the real Codex: sent once, where the client reads them, and cut, with the rest on request."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.support.servers.mcp_server import Json, McpServer, scripted_server

ANSWER = "".join(f"line {number} of the answer\n" for number in range(4_000)).rstrip()

PART = re.compile(
    r"(?s)\A(?:\[threadId: \S+\] completed\n)?(?P<text>.*)\n\n\[Characters \d+ to (?P<end>\d+) of (?P<total>\d+)\."
)
"""A part of an answer, as a result shows it."""

SCRIPT = f"""
[scenes.long]
steps = [{{ say = '''{ANSWER}''' }}]

[scenes.json]
steps = [{{ say = '{{"text": "{"y" * 100_000}"}}' }}]
"""


@asynccontextmanager
async def long_server(folder: Path, client: str, *flags: str) -> AsyncIterator[McpServer]:
    script = folder / "script.toml"
    script.write_text(SCRIPT)
    async with scripted_server(folder, *flags, script=script) as (server, _model):
        await server.initialize(name=client)
        yield server


def text_of(result: Json) -> str:
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.parametrize("place", ["text", "structured content"])
async def test_a_client_that_is_not_known_pages_through_a_long_answer_with_what_it_reads(
    tmp_path: Path, place: str
) -> None:
    """Whichever of the two its model sees, that alone tells everything that is needed to get the whole answer."""
    async with long_server(tmp_path, "my-script") as server:
        result, read = await server.run("codex", {"prompt": "[[scene: long]]"}), ""
        while True:
            structured = result["structuredContent"]
            (turn,) = structured.get("finished", [structured])
            shown = text_of(result) if place == "text" else turn["content"]
            part = PART.search(shown)
            assert part is not None
            read += part["text"]
            if part["end"] == part["total"]:
                break
            call = re.search(r"codex_wait (\{[^}]*\})", shown)
            assert call is not None
            result = await server.run("codex_wait", msgspec.json.decode(call[1]))
        assert read == ANSWER


@pytest.mark.parametrize("mode", ["at once", "later"])
async def test_claude_code_gets_a_long_answer_in_parts_that_together_are_the_answer(tmp_path: Path, mode: str) -> None:
    async with long_server(tmp_path, "claude-code") as server:
        arguments = {"prompt": "[[scene: long]]", "background": mode == "later"}
        result = await server.run("codex", arguments)
        thread = result["structuredContent"]["threadId"]
        if mode == "later":
            result = await server.run("codex_wait", {"threadIds": [thread]})
        turn = result["structuredContent"] if mode == "at once" else result["structuredContent"]["finished"][0]
        parts = []
        while True:
            part = turn["part"]
            parts.append(turn["content"][: part["end"] - part["begin"]])
            if "rest" not in part:
                break
            assert result["content"][1]["uri"] == part["rest"]
            wait = {"threadIds": [thread], "offset": part["end"]}
            result = await server.run("codex_wait", wait)
            turn = result["structuredContent"]["finished"][0]
        assert "".join(parts) == ANSWER
        assert len(parts) == 2


async def test_the_rest_of_an_answer_is_a_resource(tmp_path: Path) -> None:
    async with long_server(tmp_path, "my-script", "--max-answer-chars", "10000") as server:
        result = await server.run("codex", {"prompt": "[[scene: long]]"})
        part = result["structuredContent"]["part"]
        assert text_of(result).startswith(ANSWER[: part["end"]])
        found = await server.result(server.request("resources/read", {"uri": part["rest"]}))
        assert found["contents"][0]["text"] == ANSWER[part["end"] :]


async def test_an_answer_with_an_output_schema_is_never_cut(tmp_path: Path) -> None:
    async with long_server(tmp_path, "claude-code", "--max-answer-chars", "1000") as server:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        result = await server.run("codex", {"prompt": "[[scene: json]]", "output-schema": schema})
        assert msgspec.json.decode(result["structuredContent"]["content"]) == {"text": "y" * 100_000}


async def test_an_answer_is_whole_if_the_setting_is_0(tmp_path: Path) -> None:
    async with long_server(tmp_path, "claude-code", "--max-answer-chars", "0") as server:
        result = await server.run("codex", {"prompt": "[[scene: long]]"})
        assert result["structuredContent"]["content"] == ANSWER
