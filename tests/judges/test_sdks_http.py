"""The official SDKs' clients, of every generation and both eras, with our server over HTTP."""

from pathlib import Path

import pytest

from tests.support.http_house import House, http_house
from tests.support.mcp_server import Json
from tests.support.sdk_client import SdkClient, sdk_client_over_http

REVISIONS = {
    "python-1": "2025-11-25",
    "python-2": "2025-11-25",
    "python-2-auto": "2026-07-28",
    "typescript-1": "2025-11-25",
    "typescript-2": "2025-11-25",
    "typescript-2-auto": "2026-07-28",
}
"""What each of them agrees on with us."""

every_sdk = pytest.mark.parametrize("sdk", REVISIONS)

APPROVED = {"action": "accept", "content": {"decision": "approved"}}

PATIENCE = 2.0
"""Seconds that an impatient client waits. In life it is 60 (TypeScript) or 300 (Python), and turns last longer, too."""

LIVELY = ("--events", "none", "--progress-interval", "0.2", "--quiet-time", "0.2", "--ping-interval", "0.2")
"""A server for impatient clients, with a turn that says nothing: far more signs of life than they need, so that a busy
machine does not matter."""


def command(cmd: str) -> Json:
    return {"prompt": f'[[scene: run cmd="{cmd}"]]', "sandbox": "workspace-write"}


def reply(thread: str, prompt: str) -> Json:
    return {"threadId": thread, "prompt": prompt}


async def held(client: SdkClient, house: House, arguments: Json, *, progress: bool = False) -> int:
    """A call whose turn has come to its gate."""
    call = client.call("codex-reply", arguments, progress=progress)
    await house.model.wait_for_gate("gate")
    return call


@every_sdk
async def test_an_agent_runs_a_command_asks_for_another_one_and_is_stopped_when_its_call_is(
    tmp_path: Path, sdk: str
) -> None:
    async with http_house(tmp_path) as house, sdk_client_over_http(sdk, house, APPROVED) as client:
        tools = (await client.result(client.list_tools()))["tools"]
        ran = await client.run("codex", command("echo written > file"))
        asked = await client.run("codex", {"prompt": "[[scene: escalate]]", "approval-policy": "on-request"})

        thread = ran["structuredContent"]["threadId"]
        call = await held(client, house, reply(thread, "[[scene: gate]]"), progress=True)
        await client.wait_for(lambda event: event.get("id") == call and "progress" in event)
        client.cancel(call)
        # The gate was never opened: a turn that had not been stopped would still be in the way.
        after = await client.run("codex-reply", reply(thread, '[[scene: say text="after"]]'))

        assert client.revision == REVISIONS[sdk]
        assert [tool["name"] for tool in tools] == ["codex", "codex-reply", "codex_wait"]
        assert ran["structuredContent"]["status"] == "completed"
        assert (house.setup.work / "file").read_text() == "written\n"
        (question,) = client.questions
        assert "touch escalated" in question["message"]
        assert asked["structuredContent"]["content"] == "It ran."
        assert (house.setup.work / "escalated").exists()
        assert after["structuredContent"]["content"] == "after"


@every_sdk
async def test_a_turn_outlasts_its_clients_patience_and_a_thread_outlasts_its_server(tmp_path: Path, sdk: str) -> None:
    async with http_house(tmp_path, *LIVELY) as house, sdk_client_over_http(sdk, house, timeout=PATIENCE) as client:
        first = await client.run("codex", {"prompt": '[[scene: say text="one"]]'})
        thread = first["structuredContent"]["threadId"]

        # A call of the TypeScript SDK is kept alive by progress; a read of the Python SDK by anything at all.
        limit = PATIENCE if sdk.startswith("typescript") else None
        slow = reply(thread, f"[[scene: wait seconds={PATIENCE * 1.5}]]")
        long = await client.result(client.call("codex-reply", slow, progress=limit is not None, timeout=limit))

        await house.restart()
        second = await client.run("codex-reply", reply(thread, '[[scene: say text="two"]]'))

        assert long["structuredContent"]["content"] == "That was a pause."
        assert long["structuredContent"]["durationSeconds"] > PATIENCE
        assert second["structuredContent"]["threadId"] == thread
        assert second["structuredContent"]["content"] == "two"
        assert {seen.thread for seen in house.model.requests} == {thread}
        assert ("taken up again" in house.log) == (client.revision == "2025-11-25")
