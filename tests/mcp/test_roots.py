"""A client that declares roots and does not tell them."""

import pytest

from codex_mcp.mcp import roots
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.roots import SessionRoots
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
