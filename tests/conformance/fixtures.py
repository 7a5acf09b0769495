"""The methods of a server as the conformance suite wants it, on the same core as the product's."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from codex_mcp.access.seal import seal, unseal
from codex_mcp.mcp.client import CAPABILITY_FOR
from codex_mcp.mcp.methods import COMMON, Exchange, Handler
from codex_mcp.rpc.errors import invalid_params, request_failed
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import INVALID_PARAMS
from tests.conformance import content
from tests.conformance.content import Json, text

CAPABILITIES: Final[Json] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "logging": {},
    "completions": {},
}

PURPOSE: Final = "conformance"
"""Of what the suite's client carries for us."""

Announce = Callable[[mcp.Change], None]


class GetPrompt(msgspec.Struct, rename="camel"):
    """`prompts/get`."""

    name: str
    arguments: dict[str, str] = {}
    input_responses: dict[str, object] | None = None
    request_state: str | None = None


class Uri(msgspec.Struct):
    """`resources/read` and the like."""

    uri: str


class Round(msgspec.Struct):
    """How far a call has come."""

    name: str
    number: int


class Fixtures:
    """The tools, resources and prompts. `announce` tells every client that a list has changed."""

    def __init__(self, key: bytes, announce: Announce) -> None:
        self._key = key
        self._announce = announce
        self._bodies: dict[str, Callable[[Exchange, Json], Any]] = {
            "test_tool_with_logging": self._log,
            "test_logging_tool": self._log,
            "test_tool_with_progress": self._progress,
            "test_sampling": self._sample,
            "test_elicitation": self._elicit,
            "test_missing_capability": self._need_sampling,
            "test_trigger_tool_change": lambda _exchange, _arguments: self._changed(mcp.Change.TOOLS),
            "test_trigger_prompt_change": lambda _exchange, _arguments: self._changed(mcp.Change.PROMPTS),
            **{name: self._ask_for(request) for name, request in content.ASKING.items()},
        }

    def table(self) -> dict[str, Handler]:
        """Everything that the server answers to."""
        return {
            **COMMON,
            "tools/list": lambda _: {"tools": self._tools()},
            "tools/call": self._call,
            "prompts/list": lambda _: {"prompts": _prompts()},
            "prompts/get": self._prompt,
            "resources/list": lambda _: {"resources": _resources()},
            "resources/templates/list": lambda _: {"resourceTemplates": _templates()},
            "resources/read": _read,
            "resources/subscribe": _empty,
            "resources/unsubscribe": _empty,
            "logging/setLevel": _empty,
            "completion/complete": lambda _: {"completion": {"values": [], "total": 0, "hasMore": False}},
        }

    def _tools(self) -> list[Json]:
        rounds = [name for name in content.INPUT_ROUNDS if name not in content.PROMPT_ARGUMENTS]
        return [
            {
                "name": name,
                "description": f"For the conformance suite: {name}.",
                "inputSchema": content.SCHEMAS.get(name, content.NO_ARGUMENTS),
            }
            for name in (*content.STATIC_RESULTS, *self._bodies, *rounds)
        ]

    def _call(self, exchange: Exchange) -> object:
        params = exchange.params(mcp.CallTool)
        if params.name in content.STATIC_RESULTS:
            return content.STATIC_RESULTS[params.name]
        if params.name in content.INPUT_ROUNDS:
            return self._rounds(exchange, params) or {"content": [text(f"state-ok: {params.input_responses}")]}
        if params.name not in self._bodies:
            raise invalid_params(f"unknown tool: {params.name}")
        return self._bodies[params.name](exchange, params.arguments or {})

    # -- clients that have shaken hands are asked ---------------------------------------------------------------------

    async def _sample(self, exchange: Exchange, arguments: Json) -> Json:
        request = content.sampling(arguments["prompt"])
        answer = await exchange.client.request(request["method"], request["params"], exchange.request.id)
        return {"content": [text(f"LLM response: {bytes(answer).decode()}")]}

    async def _elicit(self, exchange: Exchange, arguments: Json) -> Json:
        fields = {"username": {"type": "string"}, "email": {"type": "string"}}
        request = content.elicitation(arguments["message"], fields)
        answer = await exchange.client.request(request["method"], request["params"], exchange.request.id)
        return {"content": [text(f"User response: {bytes(answer).decode()}")]}

    def _ask_for(self, request: Json) -> Callable[[Exchange, Json], Any]:
        async def body(exchange: Exchange, arguments: Json) -> Json:
            answer = await exchange.client.request(request["method"], request["params"], exchange.request.id)
            return {"content": [text(f"Elicitation completed: {bytes(answer).decode()}")]}

        return body

    # -- clients that have not come again with answers ----------------------------------------------------------------

    def _rounds(self, exchange: Exchange, params: mcp.CallTool | GetPrompt) -> Json | None:
        """What is still to be asked; None if everything is answered."""
        rounds = content.INPUT_ROUNDS[params.name]
        number = 0 if params.request_state is None else self._round(params.request_state, params.name)
        requests = {
            key: request
            for key, request in rounds[number].items()
            if CAPABILITY_FOR[request["method"]] in exchange.client.capabilities
        }
        responses = params.input_responses or {}
        if requests and all(isinstance(responses.get(key), dict) for key in requests):
            number += 1
            if number == len(rounds):
                return None
            requests = rounds[number]
        state = seal(self._key, PURPOSE, Round(params.name, number))
        return {"resultType": "input_required", "inputRequests": requests, "requestState": state}

    def _round(self, state: str, name: str) -> int:
        found = unseal(self._key, PURPOSE, state, Round)
        if found is None:
            raise invalid_params("requestState was not made by this server")
        if found.name != name:
            raise invalid_params("requestState belongs to another call")
        return found.number

    def _prompt(self, exchange: Exchange) -> object:
        params = exchange.params(GetPrompt)
        if params.name not in content.PROMPT_ARGUMENTS:
            raise invalid_params(f"unknown prompt: {params.name}")
        if params.name in content.INPUT_ROUNDS:
            asked = self._rounds(exchange, params)
            return asked or {"messages": [{"role": "user", "content": text(f"{params.input_responses}")}]}
        blocks = content.prompt_blocks(params.name, params.arguments)
        return {"messages": [{"role": "user", "content": block} for block in blocks]}

    # -- what is said while a call runs -------------------------------------------------------------------------------

    async def _log(self, exchange: Exchange, arguments: Json) -> Json:
        meta = exchange.params(dict[str, Any]).get("_meta", {})
        if not exchange.client.is_stateless or mcp.LOG_LEVEL_KEY in meta:
            for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                exchange.notify("notifications/message", {"level": "info", "data": words})
        return {"content": [text("Logged.")]}

    async def _progress(self, exchange: Exchange, arguments: Json) -> Json:
        token = exchange.params(mcp.CallTool).meta.progress_token
        if token is not msgspec.UNSET:
            for progress in (0, 50, 100):
                exchange.notify("notifications/progress", {"progressToken": token, "progress": progress, "total": 100})
        return {"content": [text("Done.")]}

    def _need_sampling(self, exchange: Exchange, arguments: Json) -> Json:
        exchange.client.require("sampling")
        return {"content": [text("The client can sample.")]}

    def _changed(self, change: mcp.Change) -> Json:
        self._announce(change)
        return {"content": [text("Changed.")]}


def _empty(exchange: Exchange) -> object:
    return {}


def _prompts() -> list[Json]:
    return [
        {
            "name": name,
            "description": f"For the conformance suite: {name}.",
            "arguments": [{"name": argument, "required": True} for argument in arguments],
        }
        for name, arguments in content.PROMPT_ARGUMENTS.items()
    ]


def _resources() -> list[Json]:
    return [
        {"uri": uri, "name": uri, "description": "For the conformance suite.", "mimeType": resource["mimeType"]}
        for uri, resource in content.RESOURCES.items()
    ]


def _templates() -> list[Json]:
    template = {"uriTemplate": content.TEMPLATE, "name": "data", "description": "For the conformance suite."}
    return [{**template, "mimeType": "application/json"}]


def _read(exchange: Exchange) -> object:
    uri = exchange.params(Uri).uri
    before, after = content.TEMPLATE.split("{id}")
    if uri in content.RESOURCES:
        return {"contents": [{"uri": uri, **content.RESOURCES[uri]}]}
    if uri.startswith(before) and uri.endswith(after):
        name = uri[len(before) : -len(after)]
        data = msgspec.json.encode({"id": name, "templateTest": True, "data": f"Data for ID: {name}"}).decode()
        return {"contents": [{"uri": uri, "mimeType": "application/json", "text": data}]}
    raise request_failed(INVALID_PARAMS, "Resource not found", {"uri": uri})
