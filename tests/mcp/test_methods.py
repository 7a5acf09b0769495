"""Every method, asked rightly and wrongly."""

import os
from pathlib import Path

import mcp_types
import msgspec
import pytest

from codex_mcp import __version__
from codex_mcp.mcp.features.table import CAPABILITIES
from codex_mcp.mcp.method_rows import CACHE_HINTS, METHODS, Has, Home, answered_by, is_in_era
from codex_mcp.mcp.methods import INSTRUCTIONS, Exchange
from codex_mcp.mcp.session import Session
from codex_mcp.wire.jsonrpc import Request
from codex_mcp.wire.mcp import (
    CAPABILITIES_KEY,
    REVISIONS,
    SERVER_KEY,
    STATELESS_REVISIONS,
    TASKS_EXTENSION,
    VERSION_KEY,
    CallTool,
)
from tests.support.http.endpoints import NoTools
from tests.support.rpc.memory_channel import memory_pair
from tests.support.servers.mcp_session import FarEnd, Json, memory_session, plain_peer
from tests.support.settings import make_settings

CLIENT = {"name": "ada", "version": "7"}


def initialize(revision: str = "2025-06-18") -> Json:
    return {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        *((revision, revision) for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")),
        ("2026-99-99", "2025-11-25"),
        ("1.0", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
async def test_a_revision_that_we_speak_is_echoed_and_for_any_other_our_newest_is_named(
    tmp_path: Path, asked: str, answered: str
) -> None:
    assert answered in REVISIONS
    async with memory_session(tmp_path) as (client, _session):
        answer = await client.ask("initialize", initialize(asked))
        assert answer["result"]["protocolVersion"] == answered


async def test_initialize_says_who_we_are_and_to_whom_we_speak(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, session):
        result = (await client.ask("initialize", initialize()))["result"]
        mcp_types.InitializeResult.model_validate(result)
        system = os.uname()
        assert result == {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, **CAPABILITIES},
            "serverInfo": {
                "name": "codex-mcp-server",
                "title": "Codex",
                "version": __version__,
                "user_agent": f"codex-mcp-server/{__version__} "
                f"({system.sysname} {system.release}; {system.machine}) (ada; 7)",
            },
            "instructions": INSTRUCTIONS,
        }
        assert session.client.name == "ada"


async def test_initialize_is_said_once(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        await client.ask("initialize", initialize())
        assert await client.ask("initialize", initialize()) == {
            "error": {"code": -32600, "message": "initialize called more than once"}
        }
        await client.has_said_nothing()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", None),
        ("initialize", {}),
        ("initialize", []),
        ("initialize", {**initialize(), "protocolVersion": 20250618}),
        ("initialize", {**initialize(), "clientInfo": None}),
        ("initialize", {**initialize(), "clientInfo": {"name": "ada"}}),
        ("initialize", {**initialize(), "capabilities": []}),
        ("ping", []),
        ("ping", "x"),
        ("tools/list", []),
        ("tools/call", None),
        ("tools/call", {}),
        ("tools/call", {"arguments": {}}),
        ("tools/call", {"name": 1}),
        ("tools/call", {"name": "codex", "arguments": [1]}),
        ("tools/call", {"name": "codex", "arguments": '{"prompt": 1}'}),
        ("tools/call", {"name": "codex", "_meta": {"progressToken": {}}}),
        ("resources/list", []),
        ("prompts/list", 1),
    ],
)
async def test_parameters_that_do_not_fit_are_invalid_and_the_next_request_works(
    tmp_path: Path, method: str, params: object
) -> None:
    async with memory_session(tmp_path) as (client, _session):
        answer = await client.ask(method, params)
        assert answer["error"]["code"] == -32602
        assert answer["error"]["message"].startswith("Invalid params: ")
        await client.has_said_nothing()


@pytest.mark.parametrize(
    "method", ["tools/run", "", "resources/write", "sampling/createMessage", "notifications/initialized", "codex/event"]
)
async def test_an_unknown_method_is_named_in_the_error(tmp_path: Path, method: str) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert await client.ask(method, {}) == {
            "error": {"code": -32601, "message": f"method not found: {method}", "data": {"method": method}}
        }


async def test_the_tools_are_listed_whatever_the_cursor(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        listed = (await client.ask("tools/list", {"cursor": "x"}))["result"]
        assert [tool.name for tool in mcp_types.ListToolsResult.model_validate(listed).tools] == [
            "codex",
            "codex-reply",
            "codex_wait",
        ]
        assert await client.ask("tools/list") == {"result": listed}


async def test_a_client_may_ask_before_it_has_said_who_it_is(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert await client.ask("ping") == {"result": {}}
        assert "tools" in (await client.ask("tools/list"))["result"]


@pytest.mark.parametrize("method", [name for name in answered_by(Home.SERVER) if is_in_era(name, stateless=False)])
async def test_a_request_without_an_id_is_not_answered(tmp_path: Path, method: str) -> None:
    async with memory_session(tmp_path) as (client, session):
        client.notify(method, {**initialize(), "name": "codex", "arguments": {"prompt": "hi"}})
        await client.has_said_nothing()
        assert session.client.name == ""


@pytest.mark.parametrize(
    "params", [{}, [], None, {"requestId": None}, {"requestId": 1.5}, {"requestId": 99}, {"requestId": [1]}]
)
async def test_a_cancellation_of_nothing_is_ignored(tmp_path: Path, params: object) -> None:
    async with memory_session(tmp_path) as (client, _session):
        client.notify("notifications/cancelled", params)
        await client.has_said_nothing()


async def test_unknown_notifications_are_ignored(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        client.notify("notifications/roots/list_changed", {})
        client.notify("no/such/thing", [1])
        await client.has_said_nothing()


# -- without a handshake ----------------------------------------------------------------------------------------------

META = {VERSION_KEY: STATELESS_REVISIONS[0], CAPABILITIES_KEY: {}}


async def test_who_does_not_shake_hands_discovers_what_we_are(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, session):
        result = (await client.ask("server/discover", {"_meta": META}))["result"]
        mcp_types.DiscoverResult.model_validate(result)
        assert result == {
            "resultType": "complete",
            **CACHE_HINTS,
            "supportedVersions": [*STATELESS_REVISIONS, *REVISIONS],
            "capabilities": {"tools": {}, **CAPABILITIES, "extensions": {TASKS_EXTENSION: {}}},
            "instructions": INSTRUCTIONS,
            "_meta": {SERVER_KEY: {"name": "codex-mcp-server", "title": "Codex", "version": __version__}},
        }
        assert session.client.name == "", "nothing of it is remembered"


async def test_both_eras_are_spoken_on_one_pipe(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        stateless = (await client.ask("tools/list", {"_meta": META}))["result"]
        await client.ask("initialize", initialize())
        listed = (await client.ask("tools/list"))["result"]
        assert stateless == {"resultType": "complete", **CACHE_HINTS, **listed}


@pytest.mark.parametrize(
    "method", [name for name, row in METHODS.items() if row.has is Has.HANDSHAKE and name != "initialize"]
)
async def test_methods_of_the_handshake_are_unknown_without_it(tmp_path: Path, method: str) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert (await client.ask(method, {"_meta": META}))["error"]["code"] == -32601


def exchange(home: Path, params: bytes) -> tuple[Exchange, FarEnd]:
    ours, theirs = memory_pair()
    session = Session(plain_peer(ours), NoTools(), make_settings(codex_home=str(home)).calls)
    return Exchange(Request(7, "tools/call", msgspec.Raw(params)), session, session.client, {}), FarEnd(theirs)


async def test_parameters_are_read_in_their_form(tmp_path: Path) -> None:
    one, _far = exchange(tmp_path, b'{"name":"codex","arguments":{"a":1}}')
    assert one.params(CallTool) == CallTool("codex", {"a": 1})


async def test_parameters_of_another_form_are_an_error(tmp_path: Path) -> None:
    one, _far = exchange(tmp_path, b'{"name":1}')
    with pytest.raises(msgspec.ValidationError):
        one.params(CallTool)


async def test_what_a_handler_says_reaches_the_client(tmp_path: Path) -> None:
    one, far = exchange(tmp_path, b"{}")
    one.notify("note", {"a": 1})
    assert (await far.next())["params"] == {"a": 1}
