"""A client as a tool sees it: its name, and what it can be asked."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.client import Client
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.mcp import ClientInfo
from tests.support.rpc.memory_channel import memory_pair
from tests.support.servers.mcp_session import FarEnd, plain_peer


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[tuple[Client, FarEnd, TaskSet]]:
    """A client that can be asked; the tasks are for requests to it."""
    ours, theirs = memory_pair()
    peer = plain_peer(ours)
    client = Client(peer)
    client.introduce(None, {"elicitation": {}})
    tasks = TaskSet()
    tasks.spawn(peer.run(), name="client")
    try:
        yield client, FarEnd(theirs), tasks
    finally:
        await peer.aclose()
        await tasks.aclose()


async def test_a_client_has_a_name_once_it_has_said_it() -> None:
    async with connected() as (client, _far, _tasks):
        assert client.name == ""
        client.introduce(ClientInfo("ada", "1"), {})
        assert client.name == "ada"


async def test_what_it_declared_it_can_be_asked() -> None:
    async with connected() as (client, far, tasks):
        client.introduce(None, {"roots": {}})
        asking = tasks.spawn(client.request("roots/list", {}, 7), name="roots")
        question = await far.next()
        assert question["method"] == "roots/list"
        far.send({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
        assert bytes(await asking) == b'{"roots":[]}'


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"roots": None}])
async def test_what_it_did_not_it_is_not_asked(capabilities: dict[str, object]) -> None:
    async with connected() as (client, far, _tasks):
        client.introduce(None, capabilities)
        with pytest.raises(RequestFailed) as failed:
            await client.request("roots/list", {}, 7)
        assert failed.value.error.code == -32021
        assert failed.value.error.data == {"requiredCapabilities": {"roots": {}}}
        client.notify("marker", {})
        assert (await far.next())["method"] == "marker"
