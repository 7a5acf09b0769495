"""Messages of the real Codex that are longer than `max_message_bytes`: the call is answered, and says why it failed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.servers.mcp_server import Json, McpServer, scripted_server

LIMIT = 65536
"""The smallest that the setting allows."""

LONG = "y" * (3 * LIMIT)

SCRIPT = f"""
[scenes.short]
steps = [{{ say = "short" }}]

[scenes.pieces]
steps = [{{ stream = "0123456789abcdef", count = {LIMIT // 8} }}]

[scenes.piece]
steps = [{{ say = "{LONG}" }}]

[scenes.command]
steps = [{{ run = "touch ran; : {LONG}", escalate = true }}, {{ say = "after the question" }}]

[scenes.patch]
steps = [
    {{ patch = "*** Begin Patch\\n*** Add File: long.txt\\n+{LONG}\\n*** End Patch" }},
    {{ say = "after the patch" }},
]

[scenes.output]
steps = [{{ run = "head -c 300000 /dev/zero | tr '\\\\0' x" }}, {{ say = "after the output" }}]
"""


@asynccontextmanager
async def small_server(folder: Path) -> AsyncIterator[McpServer]:
    script = folder / "script.toml"
    script.write_text(SCRIPT)
    async with scripted_server(folder, "--max-message-bytes", str(LIMIT), script=script) as (server, _model):
        await server.initialize()
        yield server


def is_refused(result: Json) -> bool:
    text = result["content"][0]["text"]
    return result.get("isError") is True and "max_message_bytes" in text and f"{LIMIT} bytes" in text


@pytest.mark.parametrize("scene", ["pieces", "piece", "command", "patch"])
async def test_a_turn_of_which_something_is_too_long_to_read_fails_and_its_thread_goes_on(
    tmp_path: Path, scene: str
) -> None:
    async with small_server(tmp_path) as server:
        arguments = {"prompt": f"[[scene: {scene}]]", "approval-policy": "untrusted", "sandbox": "read-only"}
        result = await server.run("codex", arguments)
        assert is_refused(result), result
        assert not [message for message in server.messages if message.get("method") == "elicitation/create"]
        assert not (server.setup.work / "ran").exists()
        assert not (server.setup.work / "long.txt").exists()
        thread = result["structuredContent"]["threadId"]
        again = await server.run("codex-reply", {"threadId": thread, "prompt": "[[scene: short]]"})
        assert again["structuredContent"]["content"] == "short"


async def test_output_of_a_command_that_is_too_long_to_read_does_not_fail_the_turn(tmp_path: Path) -> None:
    async with small_server(tmp_path) as server:
        result = await server.run("codex", {"prompt": "[[scene: output]]", "sandbox": "danger-full-access"})
        assert result["structuredContent"]["content"] == "after the output"
        assert "shortened" in server.log
