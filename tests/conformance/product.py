"""`python -m tests.conformance.product --port P …`: the product itself, whose `codex` the suite calls by other names.

The suite wants tools with fixed names and questions with fixed keys. Here each of its tools is a call of `codex` with a
scripted model, and a question has the key that the suite expects; everything else is the product's own answer.
"""

import argparse
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from codex_mcp.base.settings.groups import Settings
from codex_mcp.cli.serving import add_serving_arguments, serve
from codex_mcp.mcp.methods import Exchange, Methods
from codex_mcp.mcp.tools.product import MakeProduct, Product, plain_product
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import mcp

Json = dict[str, Any]

SUBJECTS: Final = ("user_name", "confirm", "step1", "step2")
"""What the suite calls its questions; the commands that need an approval contain these words."""

ASKS: Final[Json] = {"sandbox": "read-only", "approval-policy": "on-request"}
"""A command outside of the sandbox then needs an approval."""


def _scene(scene: str) -> Json:
    return {"prompt": f"[[scene: {scene}]]", **ASKS}


def _slow(arguments: Mapping[str, Any]) -> Json:
    seconds = arguments.get("seconds", 1)
    return {**_scene(f"work seconds={seconds}"), "background": seconds > 0}


CALLS: Final[Mapping[str, Callable[[Mapping[str, Any]], Json]]] = {
    "test_simple_text": lambda _: _scene("greet name=you"),
    "test_error_handling": lambda _: _scene("fail"),
    "test_elicitation": lambda _: _scene("ask"),
    "greet": lambda arguments: _scene(f"greet name={arguments['name']}"),
    "slow_compute": _slow,
    "failing_job": lambda _: {**_scene("fail"), "background": True},
    "confirm_delete": lambda _: {**_scene("ask subject=confirm"), "background": True},
    "multi_input": lambda _: {**_scene("ask_both"), "background": True},
    "test_input_required_result_elicitation": lambda _: _scene("ask"),
    "test_input_required_result_request_state": lambda _: _scene("ask subject=confirm"),
    "test_input_required_result_tampered_state": lambda _: _scene("ask subject=confirm"),
    "test_input_required_result_multi_round": lambda _: _scene("ask_twice"),
}
"""The suite's tools as arguments of `codex`."""


class Renamed:
    """The product's `tools/call` under the suite's names."""

    def __init__(self, product: Methods) -> None:
        self._product = product

    def table(self) -> dict[str, Any]:
        """The methods of the product, with these names in place of its own."""
        return {**self._product.table, "tools/list": self._list, "tools/call": self._call}

    def _list(self, exchange: Exchange) -> object:
        schema = {"type": "object"}
        return {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in CALLS]}

    def _call(self, exchange: Exchange) -> object:
        params = exchange.params(mcp.CallTool)
        if params.name not in CALLS:
            return self._product.table["tools/call"](exchange)
        answers = {_ours(key): answer for key, answer in (params.input_responses or {}).items()}
        renamed = replace(
            params,
            name="codex",
            arguments=CALLS[params.name](params.arguments or {}),
            input_responses=None if params.input_responses is None else answers,
        )
        work = exchange.session.call_tool(exchange.request.id, renamed, exchange.client)
        assert inspect.isawaitable(work)  # only `codex_wait` may be answered at once
        return _with_their_keys(work)


def _ours(key: str) -> str:
    """The product numbers its questions, and here it never asks two at once outside of a task."""
    return "approval-1" if key in SUBJECTS else key


async def _with_their_keys(answer: Awaitable[Any]) -> object:
    result = await answer
    if isinstance(result, dict) and result.get("resultType") == "input_required":
        requests = {_theirs(key, request): request for key, request in result["inputRequests"].items()}
        return {**result, "inputRequests": requests}
    return result


def _theirs(key: str, request: Json) -> str:
    message = request["params"]["message"]
    return next((subject for subject in SUBJECTS if f"echo {subject}" in message), key)


def renamed(threads: Threads, settings: Settings, key: bytes) -> Product:
    """The product under the suite's names."""
    product = plain_product(threads, settings, key)
    return replace(product, methods=replace(product.methods, table=Renamed(product.methods).table()))


def main() -> int:
    """Serve as `codex-mcp mcp-server` does."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.product", description=__doc__)
    add_serving_arguments(parser)
    make: MakeProduct = renamed
    return serve(parser.parse_args(), os.environ, os.getcwd(), lambda _loaded, _around: make)


if __name__ == "__main__":
    sys.exit(main())
