"""The official TypeScript SDK's client, of both generations, finds nothing to complain about."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.clients.sdk_client import sdk_client_on_stdio
from tests.support.processes import the_server
from tests.support.servers.doorbell import doorbell

ENDLESS = {"prompt": '[[scene: run cmd="echo > bell; exec tail -f /dev/null"]]', "sandbox": "workspace-write"}
"""A turn whose command rings the bell and then never ends."""

every_sdk = pytest.mark.parametrize("sdk", ["typescript-1", "typescript-2", "typescript-2-auto"])
every_generation = pytest.mark.parametrize("sdk", ["typescript-1", "typescript-2"])


@every_sdk
async def test_it_connects_lists_our_tools_and_continues_a_thread(tmp_path: Path, sdk: str) -> None:
    async with sdk_client_on_stdio(sdk, tmp_path) as (client, _):
        # Once it has the list, the SDK holds every result against the tool's outputSchema.
        tools = (await client.result(client.list_tools()))["tools"]

        first = await client.run("codex", {"prompt": '[[scene: say text="one"]]'})
        thread = first["structuredContent"]["threadId"]
        second = await client.run("codex-reply", {"threadId": thread, "prompt": '[[scene: say text="two"]]'})
        failed = await client.run("codex-reply", {"threadId": thread, "prompt": "[[scene: fail]]"})

        assert client.events[0]["connected"]["name"] == "codex-mcp-server"
        assert [tool["name"] for tool in tools] == ["codex", "codex-reply", "codex_wait"]
        told = f"one\n\nthreadId: {thread} (codex-reply continues the thread)"
        assert first["content"] == [{"type": "text", "text": told}]
        assert second["structuredContent"]["threadId"] == thread
        assert second["structuredContent"]["content"] == "two"
        assert failed["isError"]
        assert thread in failed["content"][0]["text"]


@every_sdk
async def test_an_approval_is_asked_in_a_form_and_given(tmp_path: Path, sdk: str) -> None:
    answer = {"action": "accept", "content": {"decision": "approved"}}
    async with sdk_client_on_stdio(sdk, tmp_path, answer=answer) as (client, _):
        done = await client.run("codex", {"prompt": "[[scene: escalate]]", "approval-policy": "on-request"})

        (question,) = client.questions
        assert "touch escalated" in question["message"]
        assert set(question["requestedSchema"]["properties"]) == {"decision", "reason"}
        assert done["structuredContent"]["content"] == "It ran."
        assert (tmp_path / "work/escalated").exists()


@every_sdk
async def test_progress_arrives_a_cancelled_call_stops_and_a_background_turn_is_collected(
    tmp_path: Path, sdk: str
) -> None:
    async with sdk_client_on_stdio(sdk, tmp_path) as (client, model):
        await client.result(client.list_tools())
        thread = (await client.run("codex", {"prompt": "hello"}))["structuredContent"]["threadId"]

        held = client.call("codex-reply", {"threadId": thread, "prompt": "[[scene: gate]]"}, progress=True)
        progress = (await client.wait_for(lambda event: event.get("id") == held and "progress" in event))["progress"]
        client.cancel(held)
        cancelled = await client.outcome(held)
        # The gate was never opened: a turn that had not been stopped would still be in the way.
        after = await client.run("codex-reply", {"threadId": thread, "prompt": '[[scene: say text="after"]]'})

        work = {"threadId": thread, "prompt": "[[scene: gate]]", "background": True}
        begun = await client.run("codex-reply", work)
        model.release("gate")
        collected = await client.run("codex_wait", {"threadIds": [thread]})

        assert progress["message"]
        assert "the test takes it back" in cancelled["error"]
        assert after["structuredContent"]["content"] == "after"
        assert begun["structuredContent"]["status"] == "running"
        assert [turn["content"] for turn in collected["structuredContent"]["finished"]] == ["The gate is open."]


@every_sdk
async def test_it_uses_prompts_resources_and_completion(tmp_path: Path, sdk: str) -> None:
    prompts = tmp_path / "home/.codex/prompts"
    prompts.mkdir(parents=True)
    (prompts / "review.md").write_text("Review $FILE, thread $THREAD.")
    async with sdk_client_on_stdio(sdk, tmp_path) as (client, _):
        thread = (await client.run("codex", {"prompt": "hello"}))["structuredContent"]["threadId"]

        assert [prompt["name"] for prompt in (await client.use("listPrompts"))["prompts"]] == ["review"]
        got = await client.use("getPrompt", name="review", arguments={"FILE": "a.py", "THREAD": "x"})
        assert got["messages"][0]["content"]["text"] == "Review a.py, thread x."
        assert len((await client.use("listResources"))["resources"]) == 4
        assert len((await client.use("listResourceTemplates"))["resourceTemplates"]) == 4
        read = await client.use("readResource", uri=f"codex://threads/{thread}")
        assert f"# Thread {thread}" in read["contents"][0]["text"]
        ref = {"type": "ref/prompt", "name": "review"}
        completed = await client.use("complete", ref=ref, argument={"name": "THREAD", "value": thread[:3]})
        assert completed["completion"]["values"] == [thread]


@every_generation
async def test_a_killed_server_is_an_error_for_its_caller_and_leaves_nothing_running(tmp_path: Path, sdk: str) -> None:
    async with doorbell(tmp_path / "work/bell") as begun, sdk_client_on_stdio(sdk, tmp_path) as (client, _):
        call = client.call("codex", ENDLESS)
        await begun.wait()

        os.kill(the_server(tmp_path / "home").pid, signal.SIGKILL)

        assert "Connection closed" in (await client.outcome(call))["error"]


@every_generation
async def test_a_client_that_leaves_in_mid_turn_leaves_nothing_running(tmp_path: Path, sdk: str) -> None:
    async with doorbell(tmp_path / "work/bell") as begun, sdk_client_on_stdio(sdk, tmp_path) as (client, _):
        await client.run("codex", {**ENDLESS, "background": True})
        await begun.wait()
