"""A client that declares roots and does not tell them, or whose root is no folder."""

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp import roots
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.roots import SessionRoots
from codex_mcp.rpc import codec
from tests.support.rpc.memory_channel import memory_pair
from tests.support.servers.mcp_session import FarEnd, plain_peer


async def test_a_client_that_does_not_answer_delays_one_call_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(roots, "PATIENCE", 0.01)
    ours, theirs = memory_pair()
    client, far = Client(plain_peer(ours)), FarEnd(theirs)
    client.introduce(None, {"roots": {}})
    session = SessionRoots()
    assert await session.folder(client, 1) is None
    assert (await far.next())["method"] == "roots/list"
    assert await session.folder(client, 2) is None
    assert caplog.text.count("did not answer roots/list") == 1
    session.changed()
    assert await session.folder(client, 3) is None
    assert (await far.next())["method"] == "roots/list", "after a change it is asked again"


@pytest.mark.parametrize("uri", ["file:.", "file:", "file://", "file://localhost", "file:..", "/"])
async def test_a_root_without_an_absolute_path_is_not_used(uri: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    assert await told_root(uri) is None
    assert f"the client's root {uri} is not a folder of this machine" in caplog.text


@pytest.mark.parametrize("uri", ["file:///", "file:/", "file://localhost/"])
async def test_a_root_with_an_absolute_path_is_used(uri: str) -> None:
    assert await told_root(uri) == "/"


async def told_root(uri: str) -> str | None:
    """The folder of a client that has this root alone."""
    ours, theirs = memory_pair()
    peer, far, tasks = plain_peer(ours), FarEnd(theirs), TaskSet()
    client = Client(peer)
    client.introduce(None, {"roots": {}})
    tasks.spawn(peer.run(), name="peer")
    asking = tasks.spawn(SessionRoots().folder(client, 1), name="roots")
    request = await far.next()
    theirs.send(codec.encode_response(request["id"], {"roots": [{"uri": uri}]}))
    folder = await asking
    await tasks.aclose()
    return folder
