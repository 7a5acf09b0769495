"""Servers of several machines answer for each other: a call for an agent is passed on to the server that runs it."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.team.test_hop import ASKS, ESCALATE
from tests.support.http.http_server import ChildServer
from tests.support.http.mcp_client import shake_hands
from tests.support.requirements import requirement
from tests.support.team.cluster import cluster
from tests.support.team.neighbours import Client, client_of
from tests.support.team.scenes import gate
from tests.support.team.team_server import refusal, say, structured


async def quiet_client_of(server: ChildServer) -> Client:
    """One that cannot be asked anything."""
    return Client(await shake_hands(server.port), is_stateless=False)


@requirement("FR-2.5", "FR-3.1")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_an_agent_of_another_machine_is_used_as_one_s_own(tmp_path: Path, era: str) -> None:
    async with cluster(tmp_path, 2) as (servers, model, _):
        one, two = [await client_of(server, era) for server in servers]
        arch = structured(await one.run("codex", {"prompt": say("one"), "identity": "arch", **ASKS}))
        replied = structured(await two.run("codex-reply", {"id": "arch", "prompt": say("two")}))
        assert (replied["content"], replied["threadId"]) == ("two", arch["threadId"])
        asked = await two.run("codex-reply", {"id": "arch", "prompt": ESCALATE})
        assert structured(asked)["content"] == "It ran."
        begun = {"id": "arch", "prompt": gate(), "background": True}
        assert structured(await two.run("codex-reply", begun))["status"] == "running"
        await model.wait_for_gate("gate")
        waited = structured(await two.run("codex_wait", {"timeout-seconds": 0}))
        assert [each["identity"] for each in waited["running"]] == ["arch"]
        steer = {"id": "arch", "prompt": say("steered"), "when": "steer"}
        assert structured(await two.run("codex-reply", steer))["content"] == "steered"
        assert not (await two.run("codex_diff", {"id": "arch"})).get("isError")
        read = await two.ask("resources/read", uri=f"codex://threads/{arch['threadId']}/answer")
        assert read["result"]["contents"][0]["text"] == "steered"
        copy = structured(await two.run("codex", {"fork_from": "arch", "prompt": say("copied")}))
        (listed,) = structured(await two.run("codex_threads", {"id": copy["codex_id"]}))["threads"]
        assert listed["owner"]["pid"] == servers[0].process.pid
        # Nobody is asked, so the question waits in the list of every server, and any of them takes the answer.
        listed = structured(await two.run("codex_approvals", {}))["approvals"]
        assert listed == []
        quiet = await quiet_client_of(servers[0])
        begun = {"prompt": ESCALATE, "identity": "quiet", "background": True, **ASKS}
        assert structured(await quiet.run("codex", begun))["status"] == "running"
        while not (listed := structured(await two.run("codex_approvals", {}))["approvals"]):
            pass
        answered = await two.run("codex_approvals", {"id": listed[0]["id"], "decision": "approved"})
        assert not answered.get("isError"), answered
        (*_, ended) = structured(await two.run("codex_wait", {"ids": ["quiet"]}))["finished"]
        assert ended["content"] == "It ran."
        # The owner is stopped in the middle of a call, and killed in the middle of another one.
        for number, way in enumerate((signal.SIGSTOP, signal.SIGKILL)):
            async with asyncio.TaskGroup() as group:
                cut = group.create_task(two.run("codex-reply", {"id": "arch", "prompt": gate(f"cut-{number}")}))
                await model.wait_for_gate(f"cut-{number}")
                os.kill(servers[0].process.pid, way)
            told = refusal(cut.result())
            assert f"process {servers[0].process.pid}" in told
            if way is signal.SIGSTOP:
                assert "does not answer" in told
                os.kill(servers[0].process.pid, signal.SIGCONT)
                model.release(f"cut-{number}")
                (*_, ended) = structured(await two.run("codex_wait", {"ids": ["arch"]}))["finished"]
                assert ended["content"] == "The gate is open."
            else:
                assert "was lost" in told
