"""A handler reads its parameters, and what it says is about its request."""

from pathlib import Path

import msgspec
import pytest

from codex_mcp.mcp.exchange import Exchange
from codex_mcp.mcp.session import Session
from codex_mcp.wire.jsonrpc import Request
from codex_mcp.wire.mcp import CallTool
from tests.support.http.endpoints import NoTools
from tests.support.rpc.memory_channel import memory_pair
from tests.support.servers.mcp_session import FarEnd, plain_peer
from tests.support.settings import make_settings


def exchange(home: Path, params: bytes) -> tuple[Exchange, FarEnd]:
    ours, theirs = memory_pair()
    session = Session(plain_peer(ours), NoTools(), make_settings(codex_home=str(home)).calls)
    return Exchange(Request(7, "tools/call", msgspec.Raw(params)), session, session.client, {}), FarEnd(theirs)


async def test_parameters_are_read_in_their_form(tmp_path: Path) -> None:
    one, _far = exchange(tmp_path, b'{"name":"codex","arguments":{"a":1}}')
    assert one.params(CallTool) == CallTool("codex", {"a": 1})


async def test_others_are_an_error(tmp_path: Path) -> None:
    one, _far = exchange(tmp_path, b'{"name":1}')
    with pytest.raises(msgspec.ValidationError):
        one.params(CallTool)


async def test_what_it_says_reaches_the_client(tmp_path: Path) -> None:
    one, far = exchange(tmp_path, b"{}")
    one.notify("note", {"a": 1})
    assert (await far.next())["params"] == {"a": 1}
