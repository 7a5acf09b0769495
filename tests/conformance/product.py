"""`python -m tests.conformance.product --port P …`: the product itself, whose `codex` the suite calls by other names.

The suite wants tools, prompts and resources with fixed names and questions with fixed keys. Here each of its tools is a
call of `codex` with a scripted model, each of its prompts a file in CODEX_HOME, each of its resources a thread, and a
question has the key that the suite expects; everything else is the product's own answer.
"""

import argparse
import base64
import inspect
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from codex_mcp.base.settings.groups import Settings
from codex_mcp.cli.serving import add_serving_arguments, serve
from codex_mcp.mcp.methods import Exchange, Methods
from codex_mcp.mcp.prompts import watching
from codex_mcp.mcp.tools.product import MakeProduct, Product, plain_product
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import mcp
from tests.conformance import content

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
    "test_tool_with_logging": lambda _: _scene("greet name=you"),
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


PROMPTS: Final = {
    "test_simple_prompt": "This is a simple prompt for testing.",
    "test_prompt_with_arguments": "Prompt with arguments: arg1='$ARG1', arg2='$ARG2'",
    "test_prompt_with_embedded_resource": "Please process the embedded resource above: $RESOURCEURI",
    "test_prompt_with_image": "Please analyze the image: ![a pixel](pixel.png)",
}
"""The suite's prompts as files. Codex writes the names of arguments in capitals."""

RESOURCES: Final = {
    "test://static-text": "codex://threads/{}",
    "test://static-binary": "codex://threads/{}/rollout",
    "test://watched-resource": "codex://threads/{}",
    "test://example-resource": "codex://threads/{}",
}
"""The suite's resources as those of a thread."""

TEMPLATE: Final = re.compile("test://template/(.+)/data")


class Renamed:
    """The product's methods under the suite's names."""

    def __init__(self, product: Methods, home: Path) -> None:
        self._product = product
        self._home = home
        folder = home / "prompts"
        folder.mkdir(exist_ok=True)
        (folder / "pixel.png").write_bytes(base64.b64decode(content.PIXEL))
        for name, text in PROMPTS.items():
            (folder / f"{name}.md").write_text(text)

    def table(self) -> dict[str, Any]:
        """The methods of the product, with these names in place of its own."""
        return {
            **self._product.table,
            "tools/list": self._list,
            "tools/call": self._call,
            **dict.fromkeys(("prompts/get", "completion/complete"), self._with_capitals),
            **dict.fromkeys(("resources/read", "resources/subscribe", "resources/unsubscribe"), self._with_thread),
        }

    async def _with_capitals(self, exchange: Exchange) -> object:
        params = exchange.params(dict[str, Any])
        if "arguments" in params:
            given = {name.upper(): value for name, value in params["arguments"].items()}
            params["arguments"] = {name: await self._uri(exchange, value) for name, value in given.items()}
        if "argument" in params:
            params["argument"] = {**params["argument"], "name": params["argument"]["name"].upper()}
        return await self._passed_on(exchange, params)

    async def _with_thread(self, exchange: Exchange) -> object:
        params = exchange.params(dict[str, Any])
        return await self._passed_on(exchange, {**params, "uri": await self._uri(exchange, params["uri"])})

    async def _passed_on(self, exchange: Exchange, params: Json) -> object:
        request = replace(exchange.request, params=Raw(msgspec.json.encode(params)))
        answer = self._product.table[request.method](replace(exchange, request=request))
        return await answer if inspect.isawaitable(answer) else answer

    async def _uri(self, exchange: Exchange, uri: str) -> str:
        """The product's address of a resource of the suite: that of a new thread."""
        template = TEMPLATE.fullmatch(uri)
        if uri not in RESOURCES and template is None:
            return uri
        name = "you" if template is None else template[1]
        call = mcp.CallTool("codex", _scene(f"greet name={name}"))
        answer = exchange.session.call_tool(exchange.request.id, call, exchange.client)
        assert inspect.isawaitable(answer)
        thread: str = (await _on_the_wire(answer))["structuredContent"]["threadId"]
        if uri == "test://static-binary":
            (rollout,) = self._home.glob(f"sessions/**/*{thread}.jsonl")
            rollout.write_bytes(rollout.read_bytes() + b"\xff\n")  # a damaged file is no text
        return RESOURCES.get(uri, "codex://threads/{}").format(thread)

    def _list(self, exchange: Exchange) -> object:
        schema = {"type": "object"}
        return {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in CALLS]}

    def _call(self, exchange: Exchange) -> object:
        params = exchange.params(mcp.CallTool)
        if params.name == "test_trigger_prompt_change":
            (self._home / f"prompts/{uuid4()}.md").write_text("A new prompt.")
            return {"content": [content.text("Changed.")]}
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
        return _in_their_words(work)


async def _on_the_wire(answer: Awaitable[Any]) -> Json:
    result: Json = msgspec.json.decode(msgspec.json.encode(await answer))
    return result


def _ours(key: str) -> str:
    """The product numbers its questions, and here it never asks two at once outside of a task."""
    return "approval-1" if key in SUBJECTS else key


async def _in_their_words(answer: Awaitable[Any]) -> object:
    """A result whose questions have the suite's keys, and whose text ends before the line that names the thread."""
    result = await _on_the_wire(answer)
    if result.get("resultType") == "input_required":
        requests = {_theirs(key, request): request for key, request in result["inputRequests"].items()}
        return {**result, "inputRequests": requests}
    if "structuredContent" in result and not result.get("isError"):
        first, *others = result["content"]
        return {**result, "content": [{**first, "text": first["text"].partition("\n\nthreadId: ")[0]}, *others]}
    return result


def _theirs(key: str, request: Json) -> str:
    message = request["params"]["message"]
    return next((subject for subject in SUBJECTS if f"echo {subject}" in message), key)


def renamed(threads: Threads, settings: Settings, key: bytes) -> Product:
    """The product under the suite's names."""
    product = plain_product(threads, settings, key)
    table = Renamed(product.methods, Path(settings.core.codex_home)).table()
    return replace(product, methods=replace(product.methods, table=table))


def main() -> int:
    """Serve as `codex-mcp mcp-server` does."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.product", description=__doc__)
    add_serving_arguments(parser)
    vars(watching)["INTERVAL"] = 0.1  # the suite waits only 1.5 s for a changed list
    make: MakeProduct = renamed
    return serve(parser.parse_args(), os.environ, os.getcwd(), lambda _loaded, _around: make)


if __name__ == "__main__":
    sys.exit(main())
