"""The official Python SDK's client finds nothing to complain about."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import stdio_client
from mcp_types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    PromptReference,
    TextContent,
    TextResourceContents,
)

from codex_mcp.base.tasks import TaskSet
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.patience import PATIENCE
from tests.support.processes import all_ended, processes_at, the_server
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import TOUR, Json, Setup

ENDLESS = {"prompt": '[[scene: run cmd="echo > bell; exec tail -f /dev/null"]]', "sandbox": "workspace-write"}
"""A turn whose command rings the bell and then never ends."""


class Person:
    """Answers every question the same way, and keeps it."""

    def __init__(self, answer: ElicitResult) -> None:
        self.questions: list[ElicitRequestFormParams] = []
        self._answer = answer

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.questions.append(params)
        return self._answer


@contextlib.asynccontextmanager
async def connected(
    folder: Path, *flags: str, mode: str = "auto", person: Person | None = None, script: Path = TOUR
) -> AsyncIterator[tuple[Client, ScriptedModel]]:
    """The SDK's client on our server. At the end the server is gone, with all that it started, and without a word."""
    async with ScriptedModel(load_script(script)) as model:
        setup = Setup(folder, model.codex_overrides(), flags)
        setup.make()
        command, *args = setup.argv()
        parameters = StdioServerParameters(command=command, args=args, env=setup.env(), cwd=setup.work)
        with (folder / "stderr").open("w+") as errlog:
            transport = stdio_client(parameters, errlog=errlog)
            async with asyncio.timeout(PATIENCE), Client(transport, mode=mode, elicitation_callback=person) as client:
                yield client, model
        await all_ended(setup.home)
        assert (folder / "stderr").read_text() == ""


def structured(result: CallToolResult) -> Json:
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def answer(result: CallToolResult) -> str:
    """The text of a result, without the line at its end that names the thread."""
    said, _, named = text(result).rpartition("\n\n")
    assert named.startswith(f"threadId: {structured(result)['threadId']} ")
    return said


every_mode = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.mark.parametrize(
    ("flags", "mode", "revision"),
    [
        ([], "auto", "2026-07-28"),
        ([], "legacy", "2025-11-25"),
        (["--protocol", "legacy"], "auto", "2025-11-25"),
    ],
)
async def test_it_connects_and_lists_our_tools(tmp_path: Path, flags: list[str], mode: str, revision: str) -> None:
    async with connected(tmp_path, *flags, mode=mode) as (client, _):
        tools = (await client.list_tools()).tools

        assert client.server_info is not None
        assert client.server_info.name == "codex-mcp-server"
        assert client.protocol_version == revision
        assert [tool.name for tool in tools] == ["codex", "codex-reply", "codex_wait"]
        assert all(tool.title and tool.description and tool.output_schema for tool in tools)


@every_mode
async def test_a_thread_is_started_and_continued_with_results_that_fit_their_schema(tmp_path: Path, mode: str) -> None:
    async with connected(tmp_path, mode=mode) as (client, model):
        await client.list_tools()  # from now on the SDK holds every result against the tool's outputSchema

        first = await client.call_tool("codex", {"prompt": '[[scene: say text="one"]]'})
        thread = structured(first)["threadId"]
        second = await client.call_tool("codex-reply", {"threadId": thread, "prompt": '[[scene: say text="two"]]'})

        assert (answer(first), answer(second)) == ("one", "two")
        assert structured(second)["threadId"] == thread
        assert structured(second)["status"] == "completed"
        assert {seen.thread for seen in model.requests} == {thread}


async def test_a_failed_turn_is_an_error_result_that_names_its_thread(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, _):
        await client.list_tools()

        failed = await client.call_tool("codex", {"prompt": '[[scene: fail message="out of order"]]'})

        assert failed.is_error
        assert structured(failed)["status"] == "failed"
        assert structured(failed)["threadId"] in text(failed)


@every_mode
async def test_an_approval_is_asked_in_a_form_and_given(tmp_path: Path, mode: str) -> None:
    person = Person(ElicitResult(action="accept", content={"decision": "approved"}))
    async with connected(tmp_path, mode=mode, person=person) as (client, _):
        done = await client.call_tool(
            "codex", {"prompt": "[[scene: escalate]]", "approval-policy": "on-request", "sandbox": "read-only"}
        )

        (question,) = person.questions
        assert "touch escalated" in question.message
        assert set(question.requested_schema["properties"]) == {"decision", "reason"}
        assert answer(done) == "It ran."
        assert (tmp_path / "work/escalated").exists()


@every_mode
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_an_approval_is_not_given_and_the_agent_goes_on_without(
    tmp_path: Path, mode: str, action: Literal["decline", "cancel"]
) -> None:
    person = Person(ElicitResult(action=action))
    async with connected(tmp_path, mode=mode, person=person) as (client, _):
        done = await client.call_tool("codex", {"prompt": "[[scene: escalate]]", "approval-policy": "on-request"})

        assert len(person.questions) == 1
        assert answer(done) == "It was refused."
        assert not (tmp_path / "work/escalated").exists()


@every_mode
async def test_progress_tells_what_the_agent_does(tmp_path: Path, mode: str) -> None:
    async with connected(tmp_path, mode=mode) as (client, model):
        seen: list[tuple[float, str | None]] = []

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            assert total is None
            seen.append((progress, message))
            model.release("gate")

        done = await client.call_tool("codex", {"prompt": "[[scene: gate]]"}, progress_callback=progressed)

        assert answer(done) == "The gate is open."
        assert all(message for _, message in seen)
        assert [progress for progress, _ in seen] == sorted({progress for progress, _ in seen})


@every_mode
async def test_a_cancelled_call_stops_its_turn_and_the_thread_goes_on(tmp_path: Path, mode: str) -> None:
    async with connected(tmp_path, mode=mode) as (client, model):
        thread = structured(await client.call_tool("codex", {"prompt": "hello"}))["threadId"]
        calls = TaskSet()
        held = {"threadId": thread, "prompt": "[[scene: gate]]"}
        calls.spawn(client.call_tool("codex-reply", held), name="a call to be cancelled")
        await model.wait_for_gate("gate")

        await calls.aclose()
        after = await client.call_tool("codex-reply", {"threadId": thread, "prompt": '[[scene: say text="after"]]'})

        # The gate was never opened: a turn that had not been stopped would still be in the way.
        assert answer(after) == "after"


async def test_a_background_turn_is_collected_later(tmp_path: Path) -> None:
    async with connected(tmp_path) as (client, model):
        await client.list_tools()

        begun = await client.call_tool("codex", {"prompt": "[[scene: gate]]", "background": True})
        thread = structured(begun)["threadId"]
        await model.wait_for_gate("gate")
        early = await client.call_tool("codex_wait", {"threadIds": [thread], "timeout-seconds": 0.001})
        model.release("gate")
        late = await client.call_tool("codex_wait", {"threadIds": [thread]})

        assert structured(begun)["status"] == "running"
        assert [turn["threadId"] for turn in structured(early)["running"]] == [thread]
        assert [turn["content"] for turn in structured(late)["finished"]] == ["The gate is open."]


async def test_a_client_that_leaves_in_mid_turn_leaves_nothing_running(tmp_path: Path) -> None:
    async with doorbell(tmp_path / "work/bell") as begun, connected(tmp_path) as (client, _):
        await client.call_tool("codex", {**ENDLESS, "background": True})
        await begun.wait()

        assert any("tail -f" in " ".join(process.argv) for process in processes_at(tmp_path / "home"))


async def test_a_killed_server_is_an_error_for_its_callers_and_leaves_nothing_running(tmp_path: Path) -> None:
    async with doorbell(tmp_path / "work/bell") as begun, connected(tmp_path) as (client, _):
        calls = TaskSet()
        call = calls.spawn(client.call_tool("codex", ENDLESS), name="a call without an answer")
        await begun.wait()

        os.kill(the_server(tmp_path / "home").pid, signal.SIGKILL)

        with pytest.raises(MCPError, match="Connection closed"):
            await call


@every_mode
async def test_it_uses_prompts_resources_and_completion(tmp_path: Path, mode: str) -> None:
    prompts = tmp_path / "home/.codex/prompts"
    prompts.mkdir(parents=True)
    (prompts / "review.md").write_text("Review $FILE, thread $THREAD.")
    async with connected(tmp_path, mode=mode) as (client, _):
        thread = structured(await client.call_tool("codex", {"prompt": "hello"}))["threadId"]

        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["review"]
        got = await client.get_prompt("review", {"FILE": "a.py", "THREAD": "x"})
        assert isinstance(got.messages[0].content, TextContent)
        assert got.messages[0].content.text == "Review a.py, thread x."
        assert len((await client.list_resources()).resources) == 4
        assert len((await client.list_resource_templates()).resource_templates) == 4
        (read,) = (await client.read_resource(f"codex://threads/{thread}")).contents
        assert isinstance(read, TextResourceContents)
        assert f"# Thread {thread}" in read.text
        reference = PromptReference(name="review")
        completed = await client.complete(reference, {"name": "THREAD", "value": thread[:3]})
        assert completed.completion.values == [thread]
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource("codex://threads/x")
