"""Three servers behind HAProxy or nginx, as docs/scale.md configures them: clients see one."""

from pathlib import Path

import pytest

from tests.acceptance.team.test_hop import ASKS, ESCALATE
from tests.support.clients.anthropic_model import Say, Use, Used
from tests.support.clients.claude_code import claude_code, codex, tool
from tests.support.http.mcp_client import Door, shake_hands
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Setup
from tests.support.team.cluster import cluster
from tests.support.team.haproxy import HaProxy
from tests.support.team.neighbours import Client
from tests.support.team.nginx import Nginx
from tests.support.team.scenes import gate
from tests.support.team.team_server import say, structured


async def through(proxy: HaProxy | Nginx, era: str) -> Client:
    """A client of the one address."""
    if era == "stateless":
        return Client(Door(proxy.port), is_stateless=True)
    return Client(await shake_hands(proxy.port, capabilities={"elicitation": {}}), is_stateless=False)


@requirement("FR-2.5", "FR-3.1")
@pytest.mark.parametrize("kind", [HaProxy, Nginx])
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_three_servers_behind_one_address_are_one(
    tmp_path: Path, era: str, kind: type[HaProxy] | type[Nginx]
) -> None:
    async with (
        cluster(tmp_path) as (servers, model, _),
        kind(tmp_path, [server.port for server in servers]) as proxy,
    ):
        client = await through(proxy, era)
        # What starts an agent and is asked, is answered through whichever server comes next.
        begun = await client.run("codex", {"prompt": ESCALATE, "identity": "arch", **ASKS})
        assert structured(begun)["content"] == "It ran."
        for number in range(4):
            replied = structured(await client.run("codex-reply", {"id": "arch", "prompt": say(f"{number}")}))
            assert replied["content"] == f"{number}"
        asked = await client.run("codex-reply", {"id": "arch", "prompt": ESCALATE})
        assert structured(asked)["content"] == "It ran."
        prompt = {"id": "arch", "prompt": gate(), "background": True}
        assert structured(await client.run("codex-reply", prompt))["status"] == "running"
        await model.wait_for_gate("gate")
        for arguments in ({}, {"ids": ["arch"]}):
            waited = structured(await client.run("codex_wait", {**arguments, "timeout-seconds": 0}))
            assert [each["identity"] for each in waited["running"]] == ["arch"]
        steer = {"id": "arch", "prompt": say("steered"), "when": "steer"}
        assert structured(await client.run("codex-reply", steer))["content"] == "steered"
        assert not (await client.run("codex_diff", {"id": "arch"})).get("isError")
        # A server that does not run the agent is killed between two calls: nobody notices.
        (listed,) = structured(await client.run("codex_threads", {"id": "arch"}))["threads"]
        spare = next(server for server in servers if server.process.pid != listed["owner"]["pid"])
        spare.process.kill()
        await spare.process.wait()
        for number in range(4):
            replied = structured(await client.run("codex-reply", {"id": "arch", "prompt": say(f"{number}")}))
            assert replied["content"] == f"{number}"


async def test_claude_code_leads_an_agent_through_whichever_server_answers(tmp_path: Path) -> None:
    async with (
        cluster(tmp_path) as (servers, model, _),
        HaProxy(tmp_path, [server.port for server in servers]) as proxy,
    ):

        async def plan(used: list[Used]) -> Say | Use:
            if len(used) == 3:
                await model.wait_for_gate("gate")
            listed = used[7].json["approvals"][0]["id"] if len(used) > 7 else ""
            steps = [
                codex(say("one"), identity="arch", **ASKS),
                tool("codex-reply", id="arch", prompt=say("two")),
                tool("codex-reply", id="arch", prompt=gate(), background=True),
                tool("codex-reply", id="arch", prompt=say("steered"), when="steer"),
                tool("codex_wait", ids=["arch"], again=True),
                tool("codex_diff", id="arch"),
                # Nobody is there to be asked, so the question waits in the list of all servers.
                tool("codex-reply", id="arch", prompt=ESCALATE),
                tool("codex_approvals"),
                tool("codex_approvals", id=listed, decision="approved"),
                tool("codex_wait"),
            ]
            return steps[len(used)] if len(used) < len(steps) else Say("All done.")

        server = {"type": "http", "url": f"http://127.0.0.1:{proxy.port}/mcp"}
        async with claude_code(Setup(tmp_path / "client"), server, plan) as desk:
            await desk.finish()

        started, replied, begun, steered, waited, _, asked, *_, ended = desk.model.used
        assert [each.text for each in desk.model.used if each.is_error] == []
        assert [each.json["content"] for each in (started, replied, steered)] == ["one", "two", "steered"]
        assert (begun.json["status"], begun.json["threadId"]) == ("running", started.json["threadId"])
        assert [turn["content"] for turn in waited.json["finished"]][-1:] == ["steered"]
        assert asked.json["status"] == "running"
        assert [turn["content"] for turn in ended.json["finished"]][-1:] == ["It ran."]
        assert all("call of codex" in server.log for server in servers), "each of them was called"
