"""An HTTP server answers for the agents of a server over stdio on its folder, in both eras."""

import asyncio
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import Door
from tests.support.requirements import requirement
from tests.support.servers.control_socket import HELLO, raw_control, socket_of
from tests.support.servers.mcp_server import Setup
from tests.support.team.fixtures import Team
from tests.support.team.neighbours import Client, client_of, web_server
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import say, structured

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}


@requirement("FR-3.1")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_client_over_http_uses_an_agent_of_another_server(team: Team, era: str) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model), web_server(one) as web:
        arch = await one.start(say("one"), identity="arch", **ASKS)
        client = await client_of(web, era)
        reply = {"id": "arch", "prompt": say("two"), "events": "standard"}
        assert structured(await client.run("codex-reply", reply))["content"] == "two"
        assert "task_complete" in [said["params"]["msg"]["type"] for said in client.told]
        asked = await client.run("codex-reply", {"id": "arch", "prompt": "[[scene: escalate]]"})
        assert structured(asked)["content"] == "It ran."
        decided = [entry for entry in one.audit() if entry["event"] == "approval"]
        via = "input_required" if era == "stateless" else "elicitation"
        assert [(entry["by"], entry["via"]) for entry in decided] == [("tests", via)]
        begun = structured(await client.run("codex-reply", {"id": "arch", "prompt": gate(), "background": True}))
        assert begun["status"] == "running"
        await model.wait_for_gate("gate")
        steered = client.run("codex-reply", {"id": "arch", "prompt": say("left"), "when": "steer"})
        async with asyncio.TaskGroup() as group:
            joined = group.create_task(steered)
        assert structured(joined.result())["content"] == "left"
        waited = structured(await client.run("codex_wait", {"ids": [arch["threadId"]], "again": True}))
        assert [turn["content"] for turn in waited["finished"]] == ["left"]
        read = await client.ask("resources/read", uri=f"codex://threads/{arch['threadId']}/answer")
        assert read["result"]["contents"][0]["text"] == "left"
        assert structured(await client.run("codex_close", {"id": "arch"}))["status"] == "closed"


async def test_a_turn_of_another_server_is_followed_as_a_task(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model), web_server(one) as web:
        await one.start(say("one"), identity="arch")
        client = await client_of(web, "stateless", has_tasks=True)
        created = await client.run("codex-reply", {"id": "arch", "prompt": gate(), "wait-seconds": 0.1})
        assert created["resultType"] == "task"
        task = created["taskId"]
        assert (await client.ask("tasks/get", taskId=task))["result"]["status"] == "working"
        model.release("gate")
        while (found := (await client.ask("tasks/get", taskId=task))["result"])["status"] == "working":
            pass
        assert "The gate is open." in str(found)
        assert "no such task" in (await client.ask("tasks/get", taskId="another"))["error"]["message"]


async def test_a_stateless_client_that_left_finds_its_answer_there(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, model), web_server(one) as web:
        await one.start(say("one"), identity="arch")
        client = await client_of(web, "stateless")
        params = {"name": "codex-reply", "arguments": {"id": "arch", "prompt": gate()}}
        message, headers = client.sent({"jsonrpc": "2.0", "id": "left", "method": "tools/call", "params": params})
        async with client.door.waiting("POST", message, **headers):
            await model.wait_for_gate("gate")
        model.release("gate")
        wait = {"ids": ["arch"]}
        (turn,) = structured(await client.run("codex_wait", wait))["finished"]
        assert turn["content"] == "The gate is open."
        assert structured(await client.run("codex_wait", {**wait, "timeout-seconds": 0}))["finished"] == []
        (turn,) = structured(await one.run("codex_wait", wait))["finished"]  # another caller
        assert turn["content"] == "The gate is open."


TOKENS = {"alice": "the-token-of-alice-0123456789", "bob": "the-token-of-bob-012345678901"}


@requirement("FR-3.1")
async def test_the_principal_goes_with_a_call_and_agents_of_others_do_not_exist(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), ["--tokens", str(tokens)], {}, "serve")
        async with http_server(setup) as web, http_server(setup) as far:
            alice, away, bob = [
                Client(Door(port, authorization=f"Bearer {TOKENS[who]}"), is_stateless=True)
                for port, who in ((web.port, "alice"), (far.port, "alice"), (far.port, "bob"))
            ]
            agent = structured(await alice.run("codex", {"prompt": gate(), "identity": "arch", "background": True}))
            await model.wait_for_gate("gate")
            for reference in (agent["codex_id"], "arch", agent["threadId"]):
                for tool in ("codex-reply", "codex_wait", "codex_interrupt", "codex_diff", "codex_close"):
                    prompt = {"prompt": say("mine")} if tool == "codex-reply" else {}
                    refused = await bob.run(tool, {"id": reference, **prompt})
                    assert refused["_meta"]["codex-mcp/error"]["reason"] == "not_found", (tool, refused)
            assert structured(await bob.run("codex_wait", {}))["running"] == []
            uri = f"codex://threads/{agent['threadId']}"
            assert "not found" in (await bob.ask("resources/read", uri=uri))["error"]["message"]
            # The same principal with the same client is the same caller, whichever server it asks.
            model.release("gate")
            (turn,) = structured(await away.run("codex_wait", {}))["finished"]
            assert turn["content"] == "The gate is open."
            assert structured(await alice.run("codex_wait", {"timeout-seconds": 0}))["finished"] == []


async def test_a_connection_that_may_do_less_forwards_no_more(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (one, _):
        await one.start(say("one"), identity="arch")
        path = await socket_of(one)
        origin = {"session": 1, "log_id": "", "caller": "c", "client": {"name": "x", "version": "1"}}
        params = {"name": "codex_close", "arguments": {"id": "arch"}}
        asked = {"origin": origin, "id": 1, "method": "tools/call", "params": params}
        as_local = {"codex-mcp/acts-for": {"principal": "local"}}
        for hello, meta, why in (
            ({"as": "mira"}, as_local, "does not act for local"),
            ({"as": "mira"}, {}, "does not act for local"),
            ({"view": True}, as_local, "may only read"),
        ):
            async with raw_control(path, HELLO | hello) as client:
                told = await client.ask("control/forward", {**asked, "_meta": meta})
                assert why in told["error"]["message"]
        async with raw_control(path) as client:
            other = {**asked, "_meta": as_local, "method": "shutdown", "params": {}}
            assert "is not forwarded" in (await client.ask("control/forward", other))["error"]["message"]
            assert "result" in await client.ask("control/forward", {**asked, "_meta": as_local})
            another = {**asked, "_meta": {"codex-mcp/acts-for": {"principal": "mira"}}, "id": 2}
            assert "another caller's" in (await client.ask("control/forward", another))["error"]["message"]
