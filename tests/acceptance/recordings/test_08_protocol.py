"""Counterparts of the recordings 08: what is no message, no method, or too early."""

from pathlib import Path

from codex_mcp.wire.features import RESOURCE_NOT_FOUND
from codex_mcp.wire.jsonrpc import INVALID_PARAMS
from tests.acceptance.recordings.exchange import ENDED, NEW, answered, as_recorded, event_types, scene, serve, thread_of
from tests.support.servers.mcp_server import Json, McpServer

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601

PONG: Json = {}

LINES: dict[str, tuple[str, list[tuple[object, object]]]] = {
    "not json": ("this is not json", [(None, PARSE_ERROR)]),
    "truncated json": ('{"jsonrpc":"2.0","id":50,"method":"ping"', [(None, PARSE_ERROR)]),
    "empty line": ("", []),
    "whitespace around": ('   {"jsonrpc":"2.0","id":51,"method":"ping"}   ', [(51, PONG)]),
    "no jsonrpc": ('{"id":52,"method":"ping"}', [(52, INVALID_REQUEST)]),
    "wrong jsonrpc": ('{"jsonrpc":"1.0","id":53,"method":"ping"}', [(53, INVALID_REQUEST)]),
    "id null": ('{"jsonrpc":"2.0","id":null,"method":"ping"}', [(None, INVALID_REQUEST)]),
    "id float": ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', [(None, INVALID_REQUEST)]),
    "id string": ('{"jsonrpc":"2.0","id":"abc","method":"ping"}', [("abc", PONG)]),
    "id negative": ('{"jsonrpc":"2.0","id":-3,"method":"ping"}', [(-3, PONG)]),
    "id big": ('{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', [(99999999999999999999, PONG)]),
    "id object": ('{"jsonrpc":"2.0","id":{},"method":"ping"}', [(None, INVALID_REQUEST)]),
    "batch": (
        '[{"jsonrpc":"2.0","id":54,"method":"ping"},{"jsonrpc":"2.0","id":55,"method":"ping"}]',
        [(None, INVALID_REQUEST)],
    ),
    "params array": ('{"jsonrpc":"2.0","id":56,"method":"ping","params":[]}', [(56, -32602)]),
    "params null": ('{"jsonrpc":"2.0","id":57,"method":"ping","params":null}', [(57, PONG)]),
    "extra top-level field": ('{"jsonrpc":"2.0","id":58,"method":"ping","extra":1}', [(58, PONG)]),
    "two messages on one line": (
        '{"jsonrpc":"2.0","id":59,"method":"ping"}{"jsonrpc":"2.0","id":60,"method":"ping"}',
        [(None, PARSE_ERROR)],
    ),
    "pretty-printed over lines": (
        '{\n"jsonrpc":"2.0",\n"id":61,\n"method":"ping"\n}',
        [(None, PARSE_ERROR), *[(None, INVALID_REQUEST)] * 3, (None, PARSE_ERROR)],
    ),
    "scalar": ("5", [(None, INVALID_REQUEST)]),
    "unknown notification": ('{"jsonrpc":"2.0","method":"foo/bar","params":{}}', []),
    "request named as a notification": (
        '{"jsonrpc":"2.0","id":62,"method":"notifications/initialized"}',
        [(62, METHOD_NOT_FOUND)],
    ),
    "notification named as a request": ('{"jsonrpc":"2.0","method":"tools/list"}', []),
    "response to unknown id": ('{"jsonrpc":"2.0","id":777,"result":{}}', []),
    "error to unknown id": ('{"jsonrpc":"2.0","id":778,"error":{"code":-1,"message":"x"}}', []),
    "CRLF": ('{"jsonrpc":"2.0","id":63,"method":"ping"}\r', [(63, PONG)]),
    "BOM": ('\ufeff{"jsonrpc":"2.0","id":64,"method":"ping"}', [(None, PARSE_ERROR)]),
}
"""By the recording's own names: the line, and the answers to it. 0.153.4 gave the pongs and no error but the -32601."""


async def answers_to(server: McpServer, line: bytes) -> list[tuple[object, object]]:
    """Whatever comes until the server answers the ping after the line: ids with their results or error codes."""
    before = len(server.messages)
    server.write(line + b"\n")
    await server.result(server.request("ping"))
    said = server.messages[before:-1]
    return [(answer["id"], answer["error"]["code"] if "error" in answer else answer["result"]) for answer in said]


async def test_each_line_is_answered_and_the_server_goes_on(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        answers = {name: await answers_to(server, line.encode()) for name, (line, _expected) in LINES.items()}

    assert answers == {name: expected for name, (_line, expected) in LINES.items()}


async def test_a_bad_byte_is_a_parse_error_and_not_the_end(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        line = b'{"jsonrpc":"2.0","id":65,"method":"ping","params":{"x":"\xff"}}'
        assert await answers_to(server, line) == [(None, PARSE_ERROR)]
        server.close_stdin()
        assert await server.exit_code() == 0


async def test_methods_that_no_server_offers_are_not_found(tmp_path: Path) -> None:
    unknown = [
        *("foo", "tools/nope", "thread/start", "model/list", "sampling/createMessage"),
        *("roots/list", "tasks/list", "tasks/get", "tasks/result", "tasks/cancel"),
    ]
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        errors = {method: (await server.answer(server.request(method, {})))["error"] for method in unknown}

    assert errors == {
        method: {"code": METHOD_NOT_FOUND, "message": f"method not found: {method}", "data": {"method": method}}
        for method in unknown
    }


async def test_what_0_153_4_left_unanswered_is_answered(tmp_path: Path) -> None:
    prompt = {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        empty = {
            method: [await server.result(server.request(method, {})), await server.result(server.request(method))]
            for method in ("resources/list", "prompts/list")
        }
        errors = [
            (await server.answer(server.request(method, params)))["error"]["code"]
            for method, params in (
                ("resources/read", {"uri": "file:///x"}),
                ("resources/subscribe", {"uri": "file:///x"}),
                ("prompts/get", {"name": "x"}),
                ("completion/complete", prompt),
                ("resources/read", {}),
                ("completion/complete", {}),
            )
        ]
        accepted = [
            await server.result(server.request("resources/unsubscribe", {"uri": "file:///x"})),
            await server.result(server.request("logging/setLevel", {"level": "emergency"})),
        ]
        assert await server.result(server.request("ping")) == PONG

    assert empty == {
        "resources/list": [{"resources": []}] * 2,
        "prompts/list": [{"prompts": []}] * 2,
    }
    assert errors == [RESOURCE_NOT_FOUND] * 2 + [INVALID_PARAMS] * 4
    assert accepted == [{}, {}]


async def test_the_handshake_is_a_courtesy_and_no_condition(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        assert await server.result(server.request("ping")) == PONG
        tools = await server.result(server.request("tools/list"))
        call = server.call("codex", {"prompt": scene("say", text="No handshake needed.")})
        result = await server.result(call)

        assert len(tools["tools"]) == 3
        assert as_recorded(result) == answered(thread_of(result), "No handshake needed.")
        assert event_types(server, call) == [*NEW, *ENDED]
