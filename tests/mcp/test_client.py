"""The person at the client is asked once; whatever is no clear yes is a no, and nobody waits for ever."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.base.settings import Settings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.client import Client
from codex_mcp.rpc.channel import memory_pair
from codex_mcp.rpc.errors import RequestFailed, request_failed
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.threads.decisions import NO_CAPABILITY, SESSION_GONE, Approved, Decision, Denied
from codex_mcp.threads.questions import Method
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Notification, Request
from codex_mcp.wire.mcp import ClientInfo
from tests.support.mcp_session import FarEnd, no_hurry
from tests.support.questions import COMMAND, ask

QUESTION = ask(Method.EXEC, COMMAND)


def refuse(request: Request) -> object:
    raise request_failed(METHOD_NOT_FOUND, request.method)


def ignore(message: Notification) -> None:
    """Nothing of interest."""


@contextlib.asynccontextmanager
async def connected(home: Path, approval_timeout: float = 60) -> AsyncIterator[tuple[Client, FarEnd, TaskSet]]:
    """A client that can be asked; the set of tasks is for those who ask."""
    ours, theirs = memory_pair()
    peer = Peer(ours, Handlers(refuse, ignore), max_requests=1, pace=no_hurry)
    client = Client(peer, Settings(codex_home=str(home), approval_timeout=approval_timeout))
    client.capabilities = {"elicitation": {}}
    tasks = TaskSet()
    tasks.spawn(peer.run(), name="client")
    try:
        yield client, FarEnd(theirs), tasks
    finally:
        await peer.aclose()
        await tasks.aclose()


def asked(client: Client, tasks: TaskSet) -> asyncio.Task[Decision]:
    return tasks.spawn(client.ask(QUESTION, 7), name="question")


async def test_a_client_has_a_name_once_it_has_said_it(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, _far, _tasks):
        assert client.name == ""
        client.info = ClientInfo("ada", "1")
        assert client.name == "ada"


async def test_a_yes_is_a_yes(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, far, tasks):
        decision = asked(client, tasks)
        question = await far.next()
        far.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}})
        assert await decision == Approved()
        assert question["method"] == "elicitation/create"
        assert question["params"]["codex_mcp_tool_call_id"] == "7"


async def test_an_error_is_a_no_with_its_reason(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, far, tasks):
        decision = asked(client, tasks)
        question = await far.next()
        far.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32603, "message": "no screen"}})
        assert await decision == Denied("the MCP client could not ask the user: no screen")


async def test_nobody_in_time_is_a_no_and_the_question_is_taken_back(tmp_path: Path) -> None:
    async with connected(tmp_path, approval_timeout=0.01) as (client, far, tasks):
        decision = asked(client, tasks)
        question = await far.next()
        withdrawn = await far.next()
        assert await decision == Denied("nobody answered within 0.01 seconds")
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "nobody answered in time"}


async def test_a_late_answer_changes_nothing_and_the_next_question_is_a_new_one(tmp_path: Path) -> None:
    async with connected(tmp_path, approval_timeout=0.01) as (client, far, tasks):
        decision = asked(client, tasks)
        first = await far.next()
        await decision
        await far.next()
        far.send({"jsonrpc": "2.0", "id": first["id"], "result": {"action": "accept"}})
        again = asked(client, tasks)
        second = await far.next()
        assert second["id"] != first["id"]
        assert isinstance(await again, Denied)


async def test_without_any_time_nobody_is_asked(tmp_path: Path) -> None:
    async with connected(tmp_path, approval_timeout=0) as (client, far, tasks):
        assert await asked(client, tasks) == Denied("nobody answered within 0 seconds")
        client.notify("marker", {})
        assert (await far.next())["method"] == "marker"


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": None}, {"elicitation": {"url": {}}}])
async def test_a_client_that_cannot_ask_is_not_asked(tmp_path: Path, capabilities: dict[str, object]) -> None:
    async with connected(tmp_path) as (client, far, tasks):
        client.capabilities = capabilities
        assert await asked(client, tasks) == Denied(NO_CAPABILITY)
        client.notify("marker", {})
        assert (await far.next())["method"] == "marker"


async def test_a_question_that_is_withdrawn_is_taken_back_from_the_client(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, far, tasks):
        decision = asked(client, tasks)
        question = await far.next()
        decision.cancel()
        withdrawn = await far.next()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "the question is no longer open"}
        assert decision.cancelled()


async def test_a_client_that_goes_away_has_said_no(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, far, tasks):
        decision = asked(client, tasks)
        await far.next()
        await far.close()
        assert await decision == Denied(SESSION_GONE)
        assert await asked(client, tasks) == Denied(SESSION_GONE)


async def test_what_it_declared_it_can_be_asked(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, far, tasks):
        client.capabilities = {"roots": {}}
        asking = tasks.spawn(client.request("roots/list", {}, 7), name="roots")
        question = await far.next()
        assert question["method"] == "roots/list"
        far.send({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
        assert bytes(await asking) == b'{"roots":[]}'


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"roots": None}])
async def test_what_it_did_not_it_is_not_asked(tmp_path: Path, capabilities: dict[str, object]) -> None:
    async with connected(tmp_path) as (client, far, _tasks):
        client.capabilities = capabilities
        with pytest.raises(RequestFailed) as failed:
            await client.request("roots/list", {}, 7)
        assert failed.value.error.code == -32021
        assert failed.value.error.data == {"requiredCapabilities": {"roots": {}}}
        client.notify("marker", {})
        assert (await far.next())["method"] == "marker"
