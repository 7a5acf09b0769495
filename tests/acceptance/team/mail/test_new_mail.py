"""A client is told of new mail: by the resource of the mailbox, and by a log message, before an agent gets it."""

import contextlib
import json
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import msgspec

from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Door, Json, call, request, shake_hands
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Setup
from tests.support.team.fixtures import Team, codex_flags, team
from tests.support.team.mailboxes import put, record, unread
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, say

__all__ = ["codex_flags", "team"]

UPDATED = "notifications/resources/updated"
MESSAGE = "notifications/message"
QUIET = ("--auto-mail", "no")


def told(server: TeamServer, method: str) -> list[Json]:
    return [message["params"] for message in server.messages if message.get("method") == method]


def is_logged(server: TeamServer, text: str) -> bool:
    return text in [each["data"] for each in told(server, MESSAGE)]


async def asked(server: TeamServer, method: str, **params: object) -> Json:
    return await server.result(server.request(method, params))


async def read(server: TeamServer, name: str) -> Json:
    (content,) = (await asked(server, "resources/read", uri=f"codex://mail/{name}"))["contents"]
    assert (content["uri"], content["mimeType"]) == (f"codex://mail/{name}", "application/json")
    found: Json = json.loads(content["text"])
    return found


@requirement("FR-8.7")
async def test_a_subscriber_is_told_of_mail_that_no_agent_gets_and_reads_it_without_marking_it(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await server.start(say("one"), identity="arch")
        listed = [each["uri"] for each in (await asked(server, "resources/list"))["resources"]]
        assert [uri for uri in listed if uri.startswith("codex://mail/")] == [
            "codex://mail/arch",
            "codex://mail/team-lead",
        ]
        templates = (await asked(server, "resources/templates/list"))["resourceTemplates"]
        assert "codex://mail/{name}" in [each["uriTemplate"] for each in templates]
        put(server, "arch", record("old", 1))
        assert await asked(server, "resources/subscribe", uri="codex://mail/arch") == {}
        await server.result(server.request("ping"))
        assert told(server, UPDATED) == [], "what was there before is no news"
        put(server, "arch", record("new", 2))
        await server.wait_for(lambda message: message.get("method") == UPDATED)
        assert told(server, UPDATED) == [{"uri": "codex://mail/arch"}]
        assert [each["message"] for each in (await read(server, "arch"))["messages"]] == ["old", "new"]
        assert unread(server, "arch") == ["old", "new"]
        await server.run("atm_read", {"identity": "arch"})
        await server.wait_for(lambda _message: len(told(server, UPDATED)) == 2)
        assert (await read(server, "arch"))["messages"] == []
        await asked(server, "resources/unsubscribe", uri="codex://mail/arch")


async def test_a_client_with_a_log_is_told_of_mail_for_its_lead_and_for_its_agents(team: Team) -> None:
    async with team(*QUIET, script=TEAM_SCRIPT) as (server, _model):
        await asked(server, "logging/setLevel", level="info")
        await server.start(say("one"), identity="arch")
        await server.run("atm_send", {"identity": "arch", "to": "team-lead", "message": "Done."})
        await server.run("atm_send", {"identity": "team-lead", "to": "arch", "message": "Thanks."})
        for name, sender in (("team-lead", "arch"), ("arch", "team-lead")):
            text = f"{name} has 1 new message from {sender}; read it with atm_read, or at codex://mail/{name}"
            await server.until(partial(is_logged, server, text))


async def test_both_come_before_the_agent_gets_its_mail(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        await asked(server, "logging/setLevel", level="info")
        await server.start(say("one"), identity="arch")
        await asked(server, "resources/subscribe", uri="codex://mail/arch")
        put(server, "arch", record("[[scene: gate name=letter]]", 1))
        await model.wait_for_gate("letter")  # the model has the mail
        await server.result(server.request("ping"))  # and what was written before is read
        assert {"uri": "codex://mail/arch"} in told(server, UPDATED)
        assert any("arch has 1 new message from lead" in each["data"] for each in told(server, MESSAGE))
        model.release("letter")


async def test_both_come_first_also_where_nothing_is_watched_yet(team: Team) -> None:
    async with team("--mail-poll-interval-ms", "3600000", script=TEAM_SCRIPT) as (server, model):
        await asked(server, "logging/setLevel", level="info")
        await asked(server, "resources/subscribe", uri="codex://mail/arch")
        turn = server.call("codex", {"prompt": gate("turn"), "identity": "arch"})
        await model.wait_for_gate("turn")
        put(server, "arch", record("[[scene: gate name=letter]]", 1))  # the first file of the team
        model.release("turn")
        await server.result(turn)
        await model.wait_for_gate("letter")
        await server.result(server.request("ping"))
        assert {"uri": "codex://mail/arch"} in told(server, UPDATED)
        assert any("arch has 1 new message from lead" in each["data"] for each in told(server, MESSAGE))
        model.release("letter")


@requirement("FR-8.2")
async def test_a_mailbox_can_be_followed_before_its_agent_and_its_folder_exist(team: Team) -> None:
    async with team("--mail-poll-interval-ms", "1000", script=TEAM_SCRIPT) as (server, _model):
        await asked(server, "resources/subscribe", uri="codex://mail/later")
        put(server, "later", record("early", 1))
        await server.wait_for(lambda message: message.get("method") == UPDATED)
        assert [each["message"] for each in (await read(server, "later"))["messages"]] == ["early"]


def write_at_once(path: Path, records: list[Json]) -> None:
    """So that nobody reads half of it."""
    draft = path.with_suffix(".json.tmp.test")
    draft.write_text(json.dumps(records))
    draft.replace(path)


TOKENS = {name: f"the-token-of-{name}-for-tests" for name in ("alice", "bob")}


@contextlib.asynccontextmanager
async def shared_server(folder: Path) -> AsyncIterator[tuple[ChildServer, Setup]]:
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        setup = Setup(folder, model.codex_overrides(), [*QUIET, "--tokens", str(tokens)], command="serve")
        async with http_server(setup) as server:
            yield server, setup


async def test_nobody_is_told_of_the_mail_of_another_principal(tmp_path: Path) -> None:
    async with shared_server(tmp_path) as (server, setup):
        alice, bob = [await shake_hands(server.port, authorization=f"Bearer {token}") for token in TOKENS.values()]
        for door in (alice, bob):
            await door.post(request(1, "logging/setLevel", level="debug"))
        await door_call(alice, "codex", prompt=say("one"), identity="arch")
        uri = "codex://mail/arch"
        for method in ("resources/read", "resources/subscribe"):
            refused = await bob.post(request(2, method, uri=uri))
            assert refused["error"]["message"] == f"Resource not found: {uri}"
        listed = await bob.post(request(3, "resources/list"))
        assert uri not in [each["uri"] for each in listed["result"]["resources"]]
        async with alice.stream("GET") as hers, bob.stream("GET") as his:
            assert (await alice.post(request(4, "resources/subscribe", uri=uri)))["result"] == {}
            inboxes = setup.home / ".claude/teams/default/inboxes"
            inboxes.mkdir(parents=True, exist_ok=True)
            write_at_once(inboxes / "arch.json", [record("secret", 1)])
            await hers.until(method=UPDATED)
            await door_call(bob, "codex", prompt=say("two"), identity="dev")
            write_at_once(inboxes / "dev.json", [record("his", 2, timestamp=format_timestamp(time.time()))])
            heard = [await his.message()]
            while "dev has 1 new message" not in json.dumps(heard[-1]):
                heard.append(await his.message())
            assert "arch" not in json.dumps(heard)


async def door_call(door: Door, tool: str, **arguments: object) -> Json:
    answer = await door.ask("POST", call("call", tool, arguments))
    lines = [line.removeprefix(b"data: ") for line in answer.body.splitlines() if line.startswith((b"data: {", b"{"))]
    result: Json = msgspec.json.decode(lines[-1])["result"]
    assert not result.get("isError"), answer
    return result


@requirement("FR-10.2")
async def test_the_status_and_the_metrics_count_what_became_of_mail_and_what_agents_do(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), [], command="serve")
        async with http_server(setup) as server:
            door = await shake_hands(server.port)
            await door_call(door, "codex", prompt=say("one"), identity="arch")
            inboxes = setup.home / ".claude/teams/default/inboxes"
            inboxes.mkdir(parents=True, exist_ok=True)
            now = format_timestamp(time.time())
            notice = json.dumps({"type": "idle_notification", "from": "dev", "timestamp": now})
            mail = [record("[[scene: gate name=letter]]", 1, timestamp=now), record("more", 2, timestamp=now)]
            idle = [record(notice, number, sender="dev", timestamp=now) for number in (3, 4)]
            write_at_once(inboxes / "arch.json", [*mail, *idle])
            await model.wait_for_gate("letter")
            status = await door_call(door, "codex_status")
            while status["structuredContent"]["mail"]["read"] == 0:  # they are marked a moment after the turn began
                status = await door_call(door, "codex_status")
            counted = status["structuredContent"]["mail"]
            times = counted.pop("seconds_to_turn")
            assert times["longest"] >= times["mean"] > 0
            assert counted == {
                "offered": 3,
                "redelivered": 0,
                "started": 3,
                "read": 3,
                "held_back": 0,
                "expired": 1,
                "failed": 0,
            }
            page = (await Door(server.port, "/metrics").ask("GET")).body.decode()
            for line in (
                'codex_mcp_mail_total{outcome="read",team="default"} 3.0',
                'codex_mcp_mail_total{outcome="failed",team="default"} 0.0',
                'codex_mcp_mail_seconds_count{team="default"} 3.0',
                'codex_mcp_agents{state="busy",team="default"} 1.0',
                'codex_mcp_agents{state="idle",team="default"} 0.0',
                'codex_mcp_agent_prompts_waiting{team="default"} 0.0',
                'codex_mcp_agent_questions_open{team="default"} 0.0',
            ):
                assert line in page
            tokens = [line for line in page.splitlines() if line.startswith('codex_mcp_agent_tokens{team="default"}')]
            assert float(tokens[0].split()[-1]) > 0
            model.release("letter")
