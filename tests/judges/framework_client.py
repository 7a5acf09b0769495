"""A life of an agent framework with our server, in the framework's own virtual environment: `framework_client.py
FRAMEWORK SERVER STEPS [ANSWER]`.

The model is a list of steps, each a tool and its arguments, or `together` a list of them. `{thread}` in an argument
stands for the last thread id that the model was shown, wherever it stood. The step `collect`
calls `codex_wait` until the text that it names was shown. The program prints what the model was shown of each call, as
JSON.
"""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Json = dict[str, Any]

THREAD = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

MOST_WAITS = 40


class Model:
    """What a model does that knows only what it was shown."""

    def __init__(self, steps: list[Json], answer: str = "") -> None:
        self.steps = steps
        self.answer: Any = answer
        """What its person answers to every question; empty: there is no person."""
        self.shown: list[str] = []
        self._waits = 0

    def next(self, shown: list[str]) -> list[tuple[str, Json]]:
        """The next calls of tools, all at once; none: it is done."""
        self.shown = shown
        while self.steps and "collect" in self.steps[0]:
            if self.steps[0]["collect"] not in shown[-1] and self._waits < MOST_WAITS:
                self._waits += 1
                return [("codex_wait", {})]
            self.steps.pop(0)
        if not self.steps:
            return []
        step = self.steps.pop(0)
        return [(one["tool"], self._filled(one["arguments"])) for one in step.get("together", [step])]

    def _filled(self, arguments: Json) -> Json:
        threads = THREAD.findall("\n".join(self.shown))
        return {key: threads[-1] if value == "{thread}" and threads else value for key, value in arguments.items()}


async def agents(server: Json, model: Model) -> None:
    """OpenAI Agents SDK."""
    from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
    from agents import Model as AgentModel
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(disabled=True)

    class Scripted(AgentModel):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
            outputs = [each for each in input if isinstance(each, dict) and each.get("type") == "function_call_output"]
            called = model.next([_text(each["output"]) for each in outputs])
            if not called:
                said = ResponseOutputText(type="output_text", text="done", annotations=[])
                done = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[said]
                )
                return ModelResponse(output=[done], usage=Usage(), response_id=None)
            calls = [
                ResponseFunctionToolCall(
                    call_id=f"c{number}", name=name, arguments=json.dumps(arguments), type="function_call"
                )
                for number, (name, arguments) in enumerate(called, len(outputs))
            ]
            return ModelResponse(output=calls, usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    made = MCPServerStreamableHttp(params=server) if "url" in server else MCPServerStdio(params=server)
    async with made as connected:
        await Runner.run(Agent(name="a", model=Scripted(), mcp_servers=[connected]), "go", max_turns=100)


async def adk(server: Json, model: Model) -> None:
    """Google ADK."""
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
    from google.genai import types
    from mcp import StdioServerParameters
    from mcp.types import ElicitResult

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            parts = [part for content in llm_request.contents for part in content.parts or []]
            shown = [json.dumps(part.function_response.response) for part in parts if part.function_response]
            called = model.next(shown)
            parts = [
                types.Part(function_call=types.FunctionCall(name=name, args=arguments)) for name, arguments in called
            ]
            yield LlmResponse(content=types.Content(role="model", parts=parts or [types.Part(text="done")]))

    params = (
        StreamableHTTPConnectionParams(url=server["url"])
        if "url" in server
        else StdioConnectionParams(server_params=StdioServerParameters(**server))
    )

    async def ask(*_: Any) -> ElicitResult:
        return ElicitResult(action=model.answer, content={})

    tools = McpToolset(connection_params=params, elicitation_callback=ask if model.answer else None)
    runner = InMemoryRunner(agent=LlmAgent(name="a", model=Scripted(model="scripted"), tools=[tools]), app_name="a")
    session = await runner.session_service.create_session(app_name="a", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        pass
    await tools.close()


async def pydantic(server: Json, model: Model) -> None:
    """Pydantic AI."""
    from fastmcp.client.elicitation import ElicitResult
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def play(messages: list[Any], _: Any) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        shown = [_text(part.content) for part in parts if part.part_kind in ("tool-return", "retry-prompt")]
        called = model.next(shown)
        return ModelResponse(parts=[ToolCallPart(*each) for each in called] or [TextPart("done")])

    async def ask(*_: Any) -> Any:
        return ElicitResult(action=model.answer)

    place = server["url"] if "url" in server else StdioTransport(**server)
    toolset = MCPToolset(place, elicitation_handler=ask if model.answer else None)
    agent = Agent(FunctionModel(play), toolsets=[toolset], retries=50)
    async with agent:
        await agent.run("go")


async def langchain(server: Json, model: Model) -> None:
    """LangChain's adapters, as an agent of LangGraph calls them: each call has a session of its own."""
    from langchain_mcp_adapters.callbacks import Callbacks
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from mcp.types import ElicitResult

    async def ask(*_: Any) -> ElicitResult:
        return ElicitResult(action=model.answer)

    callbacks = Callbacks(on_elicitation=ask if model.answer else None)
    kind = {**server, "transport": "streamable_http" if "url" in server else "stdio"}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"codex": kind}, callbacks=callbacks).get_tools()}

    async def use(name: str, arguments: Json) -> str:
        try:
            said = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        except Exception as exc:  # noqa: BLE001  a model is shown the error, too
            return repr(exc)
        return _text(said.content)

    shown: list[str] = []
    while called := model.next(shown):
        shown += await asyncio.gather(*(use(name, arguments) for name, arguments in called))


async def autogen(server: Json, model: Model) -> None:
    """AutoGen."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core import FunctionCall
    from autogen_core.models import CreateResult, FunctionExecutionResultMessage, RequestUsage
    from autogen_ext.models.replay import ReplayChatCompletionClient
    from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams

    class Scripted(ReplayChatCompletionClient):
        async def create(self, messages: Any, **kwargs: Any) -> Any:
            results = [
                each
                for message in messages
                if isinstance(message, FunctionExecutionResultMessage)
                for each in message.content
            ]
            called = model.next([each.content for each in results])
            calls = [
                FunctionCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))
                for number, (name, arguments) in enumerate(called, len(results))
            ]
            usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
            return CreateResult(
                finish_reason="function_calls" if calls else "stop", content=calls or "done", usage=usage, cached=False
            )

    params = StreamableHttpServerParams(**server) if "url" in server else StdioServerParams(**server)
    async with McpWorkbench(params) as workbench:
        agent = AssistantAgent("a", model_client=Scripted(["done"]), workbench=workbench, max_tool_iterations=100)
        await agent.run(task="go")


async def fastmcp(server: Json, model: Model) -> None:
    """FastMCP's client. It has no model of its own: whoever uses it shows the whole result."""
    from fastmcp import Client
    from fastmcp.client.elicitation import ElicitResult
    from fastmcp.client.transports import StdioTransport

    async def ask(*_: Any) -> ElicitResult:
        return ElicitResult(action=model.answer)

    async def use(name: str, arguments: Json) -> str:
        said = await client.call_tool(name, arguments, raise_on_error=False)
        return (
            json.dumps(said.structured_content)
            if said.structured_content
            else _text([each.model_dump() for each in said.content])
        )

    client = Client(
        server["url"] if "url" in server else StdioTransport(**server),
        elicitation_handler=ask if model.answer else None,
    )
    async with client:
        shown: list[str] = []
        while called := model.next(shown):
            shown += await asyncio.gather(*(use(name, arguments) for name, arguments in called))


def _text(content: Any) -> str:
    if isinstance(content, list) and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(part["text"] for part in content)
    return content if isinstance(content, str) else json.dumps(content, default=str)


FRAMEWORKS: dict[str, Callable[[Json, Model], Awaitable[None]]] = {
    "agents": agents,
    "adk": adk,
    "pydantic": pydantic,
    "langchain": langchain,
    "autogen": autogen,
    "fastmcp": fastmcp,
}

if __name__ == "__main__":
    playing = Model(json.loads(sys.argv[3]), *sys.argv[4:])
    asyncio.run(FRAMEWORKS[sys.argv[1]](json.loads(sys.argv[2]), playing))
    print(json.dumps(playing.shown))
