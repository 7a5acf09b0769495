"""A model that cannot be reached: progress says why, and the call fails in time."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.mcp_server import Json, McpServer, Setup

FINITE = 3
"""Seconds of `unreachable_timeout`. Codex reports its first failure by itself; only then the time begins."""


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, and nobody can."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


async def test_a_model_of_this_machine_that_is_not_there_fails_the_call_within_seconds_and_names_its_address(
    tmp_path: Path, closed_port: int
) -> None:
    flags = ["--unreachable-timeout", "86400", "--soft-deadline", "0"]
    async with McpServer(Setup(tmp_path, unreachable(closed_port), flags)) as server:
        await server.initialize()
        call = server.call("codex", {"prompt": "hello", "wait-seconds": 0}, meta={"progressToken": "p"})
        where = f"the model provider nobody at http://127.0.0.1:{closed_port}/v1"
        await server.wait_for(lambda message: where in str(message.get("params")))
        text = (await server.result(call))["content"][0]["text"]
        assert text.startswith(f"Nothing listens at http://127.0.0.1:{closed_port}/v1, where Codex looks for")


def unreachable(port: int) -> list[str]:
    return [
        'model_provider="nobody"',
        'model_providers.nobody.name="nobody"',
        f'model_providers.nobody.base_url="http://127.0.0.1:{port}/v1"',
        'model_providers.nobody.wire_api="responses"',
    ]


async def test_a_turn_whose_model_cannot_be_reached_shows_the_cause_and_fails(tmp_path: Path, closed_port: int) -> None:
    flags = ["--unreachable-timeout", str(FINITE), "--soft-deadline", "0"]
    async with McpServer(Setup(tmp_path, unreachable(closed_port), flags)) as server:
        await server.initialize()
        call = server.call("codex", {"prompt": "hello", "wait-seconds": 0}, meta={"progressToken": "p"})

        def shows_cause(message: Json) -> bool:
            return message.get("method") == "notifications/progress" and (
                "Connection failed" in message["params"].get("message", "")
            )

        await server.wait_for(shows_cause)
        result = await server.result(call)
        text = result["content"][0]["text"]
        assert result["isError"] is True
        assert f"could not reach the model for {FINITE} seconds" in text
        assert "Connection failed" in text
