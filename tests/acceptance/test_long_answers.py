"""Long answers of the real Codex: sent once, where the client reads them, and cut, with the rest on request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.support.servers.mcp_server import Json, McpServer, scripted_server

ANSWER = "".join(f"line {number} of the answer\n" for number in range(4_000)).rstrip()

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


async def test_a_long_answer_is_in_the_text_for_a_client_that_is_not_known(tmp_path: Path) -> None:
    async with long_server(tmp_path, "my-script") as server:
        result = await server.run("codex", {"prompt": "[[scene: long]]"})
        assert text_of(result) == ANSWER
        assert msgspec.json.encode(result).decode().count("line 3999") == 1


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
