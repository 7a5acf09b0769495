"""The official SDKs' clients, of every generation and both eras, with our server over HTTP.

One client and one server live through a whole day, chapter by chapter: to start them takes longer than any chapter.
"""

from pathlib import Path

import pytest

from tests.support.clients.sdk_client import SdkClient, sdk_client_over_http
from tests.support.http.restartable_server import House, http_house
from tests.support.servers.mcp_server import Json

REVISIONS = {
    "python-1": "2025-11-25",
    "python-2": "2025-11-25",
    "python-2-auto": "2026-07-28",
    "typescript-1": "2025-11-25",
    "typescript-2": "2025-11-25",
    "typescript-2-auto": "2026-07-28",
}
"""What each of them agrees on with us."""

APPROVED = {"action": "accept", "content": {"decision": "approved"}}

CLIENT_TIMEOUT = 4.0
"""Seconds that an impatient client waits. In life it is 60 (TypeScript) or 300 (Python), and turns last longer, too."""

LIVELY = (
    *("--events", "none", "--progress-interval", "0.2", "--quiet-time", "0.2", "--ping-interval", "0.2"),
    *("--on-client-timeout", "stop"),
)
"""A server for impatient clients, with turns that say nothing: far more signs of life than they need, so that a busy
machine does not matter. Without a session, an SDK can cancel only by hanging up, which here stops the turn."""


@pytest.mark.parametrize("sdk", REVISIONS)
async def test_an_agent_runs_asks_stops_takes_long_and_goes_on_when_its_server_was_restarted(
    tmp_path: Path, sdk: str
) -> None:
    async with (
        http_house(tmp_path, *LIVELY) as house,
        sdk_client_over_http(sdk, house, APPROVED, timeout=CLIENT_TIMEOUT) as client,
    ):
        assert client.revision == REVISIONS[sdk]
        tools = (await client.result(client.list_tools()))["tools"]
        assert [tool["name"] for tool in tools] == ["codex", "codex-reply", "codex_wait"]

        thread = await runs_a_command(client, house)
        await asks_for_an_approval(client, house)
        await is_stopped_with_its_call(client, house, thread)
        # A call of the TypeScript SDK is kept alive by progress; a read of the Python SDK by anything at all.
        await takes_longer_than_its_client_waits(client, thread, only_progress_counts=sdk.startswith("typescript"))
        await goes_on_when_its_server_was_restarted(client, house, thread)
        assert ("restored" in house.log) == (client.revision == "2025-11-25")


async def runs_a_command(client: SdkClient, house: House) -> str:
    prompt = '[[scene: run cmd="echo written > file"]]'
    ran = (await client.run("codex", {"prompt": prompt, "sandbox": "workspace-write"}))["structuredContent"]

    assert ran["status"] == "completed"
    assert (house.setup.work / "file").read_text() == "written\n"
    return str(ran["threadId"])


async def asks_for_an_approval(client: SdkClient, house: House) -> None:
    asked = await client.run("codex", {"prompt": "[[scene: escalate]]", "approval-policy": "on-request"})

    (question,) = client.questions
    assert "touch escalated" in question["message"]
    assert asked["structuredContent"]["content"] == "It ran."
    assert (house.setup.work / "escalated").exists()


async def is_stopped_with_its_call(client: SdkClient, house: House, thread: str) -> None:
    call = client.call("codex-reply", reply(thread, "[[scene: gate]]"), progress=True)
    await house.model.wait_for_gate("gate")
    await client.wait_for(lambda event: event.get("id") == call and "progress" in event)
    client.cancel(call)
    after = await client.run("codex-reply", reply(thread, '[[scene: say text="after"]]'))

    # The gate was never opened: a turn that had not been stopped would still be in the way.
    assert after["structuredContent"]["content"] == "after"


async def takes_longer_than_its_client_waits(client: SdkClient, thread: str, *, only_progress_counts: bool) -> None:
    slow = reply(thread, f"[[scene: wait seconds={CLIENT_TIMEOUT * 1.5}]]")
    limit = CLIENT_TIMEOUT if only_progress_counts else None
    call = client.call("codex-reply", slow, progress=only_progress_counts, timeout=limit)
    long = (await client.result(call))["structuredContent"]

    assert long["content"] == "That was a pause."
    assert long["durationSeconds"] > CLIENT_TIMEOUT


async def goes_on_when_its_server_was_restarted(client: SdkClient, house: House, thread: str) -> None:
    await house.restart()
    later = (await client.run("codex-reply", reply(thread, '[[scene: say text="later"]]')))["structuredContent"]

    assert (later["threadId"], later["content"]) == (thread, "later")
    assert house.model.requests[-1].thread == thread


def reply(thread: str, prompt: str) -> Json:
    return {"threadId": thread, "prompt": prompt}
