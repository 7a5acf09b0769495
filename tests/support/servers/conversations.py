"""A client of the conversation methods, on the pipes of a real server."""

import asyncio
import contextlib
import fcntl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.servers.mcp_server import Json, McpServer

ENDS = ("task_complete", "turn_aborted")


async def ask(server: McpServer, method: str, **params: object) -> Json:
    """Call a method; its result."""
    return await server.result(server.request(method, params))


async def refusal(server: McpServer, method: str, **params: object) -> tuple[int, str]:
    """Call a method that fails: the code and the text of its error."""
    answer = await server.answer(server.request(method, params))
    assert "error" in answer, answer
    return answer["error"]["code"], answer["error"]["message"]


def items(prompt: str) -> list[Json]:
    """A message of one text, as 0.42.0 wants it."""
    return [{"type": "text", "data": {"text": prompt}}]


async def new(server: McpServer, **params: object) -> str:
    """A new conversation."""
    made = await ask(server, "newConversation", **params)
    return str(made["conversationId"])


async def listen(server: McpServer, conversation: str) -> str:
    """Listen to a conversation; the subscription."""
    listening = await ask(server, "addConversationListener", conversationId=conversation)
    return str(listening["subscriptionId"])


async def say(server: McpServer, conversation: str, prompt: str) -> None:
    """Send a message."""
    assert await ask(server, "sendUserMessage", conversationId=conversation, items=items(prompt)) == {}


def turn(conversation: str, prompt: str, cwd: object, **changed: object) -> Json:
    """The params of `sendUserTurn`."""
    params = {
        "conversationId": conversation,
        "items": items(prompt),
        "cwd": str(cwd),
        "approvalPolicy": "never",
        "sandboxPolicy": {"mode": "danger-full-access"},
        "model": "mock-model",
        "effort": "low",
        "summary": "auto",
    }
    return {**params, **changed}


def told(server: McpServer, conversation: str, number: int | None = None) -> list[Json]:
    """The `msg` of every listener's event of a conversation so far (of one submission)."""
    return [
        message["params"]["msg"]
        for message in server.messages
        if message.get("method", "").startswith("codex/event/")
        and message["params"]["conversationId"] == conversation
        and number in (None, int(message["params"]["id"] or -1))
    ]


async def ended(server: McpServer, conversation: str, number: int) -> Json:
    """Wait until a listener was told that the turn of this submission has ended: the `msg`."""
    message = await server.wait_for(
        lambda message: (
            message.get("method", "").removeprefix("codex/event/") in ENDS
            and message["params"]["conversationId"] == conversation
            and message["params"]["id"] == str(number)
        )
    )
    msg: Json = message["params"]["msg"]
    return msg


async def asked(server: McpServer, method: str, number: int) -> Json:
    """Wait for the server's request of this method and number: its params."""
    message = await server.wait_for(lambda each: each.get("method") == method and each["id"] == number)
    params: Json = message["params"]
    return params


@contextlib.asynccontextmanager
async def login_port() -> AsyncIterator[None]:
    """Codex waits for a login at port 1455, and ends the login of another Codex there: one test at a time."""
    with (Path(tempfile.gettempdir()) / "codex-login-port.lock").open("w") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        yield
