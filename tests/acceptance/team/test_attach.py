"""A Codex TUI on an agent of a team, played by hand: `control/attach` on the control socket of a real server."""

import base64
import json
import os
from pathlib import Path

import pytest

from tests.support.servers.control_socket import HELLO, raw_control, socket_of
from tests.support.servers.mcp_server import Json
from tests.support.team.attached import APPROVAL, attached_tui, said
from tests.support.team.own_turns import OWN_TURNS
from tests.support.team.team_server import GATE, TeamServer, say, structured, team_server

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one pixel."""

ASKING = {"sandbox": "read-only", "approval-policy": "on-request"}


def escalate(file: str) -> str:
    """A prompt whose agent asks whether it may make this file."""
    return f'[[scene: escalate cmd="touch {file}"]]'


async def people(server: TeamServer, who: str) -> list[Json]:
    """What persons have done, as a wait tells it."""
    told: list[Json] = structured(await server.run("codex_wait", {"ids": [who], "timeout_seconds": 0})).get(
        "people", []
    )
    return told


def approvals(server: TeamServer) -> list[Json]:
    """The audit lines of decisions."""
    return [line for line in server.audit() if line["event"] == "approval"]


async def test_a_tui_sees_the_conversation_and_goes_on_with_it(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        arch = await server.start(say("the harbour is frozen"), identity="arch")
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            opened = await tui.open()
            (turn,) = opened["thread"]["turns"]
            assert next(item["type"] for item in turn["items"]) == "userMessage"
            assert "the harbour is frozen" in json.dumps(turn)
            assert opened["model"]
            assert (await tui.told("thread/tokenUsage/updated"))["params"]["tokenUsage"]["total"]["totalTokens"] == 120
            begun = (await tui.type(say("it thaws")))["result"]["turn"]
            assert begun["status"] == "inProgress"
            item = await tui.until(lambda message: "it thaws" in json.dumps(message) and "userMessage" in str(message))
            assert item["params"]["item"]["clientId"] == f"typed {say('it thaws')}"
            ended = await tui.told("turn/completed")
            assert ended["params"]["turn"]["id"] == begun["id"]
        assert b"the harbour is frozen" in model.requests[-1].body
        result = structured(await server.run("codex_wait", {"ids": ["arch"], "mode": "all"}))
        assert [each["content"] for each in result["finished"]][-1] == "it thaws"
        (news,) = result["people"]
        assert (news["identity"], news["status"], news["by"]) == ("arch", "prompted", "mira")
        assert "it thaws" in news["content"]
        assert await people(server, "arch") == [], "it is told once"
        told = [(line["what"], line["by"], line["via"]) for line in server.audit() if line["event"] == "control"]
        assert told == [("attach (control)", "mira", "test"), ("prompted", "mira", "test")]
        (line,) = (line for line in server.audit() if line["event"] == "attach")
        assert (line["outcome"], line["tokens"]) == ("ok", 120)


async def test_a_person_steers_and_interrupts_and_the_lead_hears_of_it(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        arch = await server.start(say("hello"), identity="arch")
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            call = server.call("codex-reply", {"identity": "arch", "prompt": "[[scene: endless]]"})
            turn = (await tui.told("turn/started"))["params"]["turn"]["id"]
            await tui.told("item/agentMessage/delta")
            late = await tui.ask("turn/steer", input=said("x"), expectedTurnId="another")
            assert late["error"]["message"] == "no active turn to steer"
            steered = await tui.ask(
                "turn/steer", input=said("[[scene: endless]]"), expectedTurnId=turn, clientUserMessageId="m1"
            )
            assert steered["result"] == {"turnId": turn}
            heard = await tui.until(lambda message: "m1" in json.dumps(message.get("params")))
            assert heard["params"]["item"]["type"] == "userMessage"
            assert (await tui.ask("turn/interrupt", turnId=turn))["result"] == {}
            ended = await tui.told("turn/completed")
            assert ended["params"]["turn"]["status"] == "interrupted"
            result = structured(await server.result(call))
            assert result["status"] == "interrupted"
            assert [warning.split(" in an")[0] for warning in result["warnings"]] == [
                "mira has steered the agent",
                "mira has interrupted the agent",
            ]
            nothing = await tui.ask("turn/interrupt", turnId=turn)
            assert "no turn runs" in nothing["error"]["message"]
        assert [each["status"] for each in await people(server, "arch")] == ["steered", "interrupted"]


async def test_the_first_answer_counts_wherever_it_is_given_and_has_one_effect(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, _model):
        arch = await server.start(say("hello"), identity="arch", **ASKING)
        path = await socket_of(server)
        async with attached_tui(path, arch["codex_id"]) as tui, attached_tui(path, arch["codex_id"]) as other:
            for each in (tui, other):
                await each.open()
            # The person at one TUI answers; the other TUI and the list are rid of the question.
            await server.reply("arch", escalate("one"), background=True)
            asked, same = await tui.told(APPROVAL), await other.told(APPROVAL)
            assert "touch one" in asked["params"]["command"]
            assert asked["params"] == same["params"]
            tui.send({"id": asked["id"], "result": {"decision": "accept"}})
            for each, question in ((tui, asked), (other, same)):
                closed = await each.told("serverRequest/resolved")
                assert closed["params"] == {"threadId": tui.thread, "requestId": question["id"]}
            await tui.told("turn/completed")
            # Somebody else answers, by a tool.
            await server.reply("arch", escalate("two"), background=True)
            asked = await tui.told(APPROVAL)
            (question,) = structured(await server.run("codex_approvals", {}))["approvals"]
            answer = {"id": question["id"], "decision": "denied"}
            await server.run("codex_approvals", answer)
            assert (await tui.told("serverRequest/resolved"))["params"]["requestId"] == asked["id"]
            tui.send({"id": asked["id"], "result": {"decision": "accept"}})  # too late
            await tui.told("turn/completed")
        assert (server.setup.work / "one").exists()
        assert not (server.setup.work / "two").exists()
        decided = [(line["what"], line.get("by"), line["via"]) for line in approvals(server)]
        assert decided == [("approved", "mira", "tui"), ("denied", "tests", "codex_approvals")]


async def test_both_sides_answer_at_once_and_one_of_them_counts(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, _model):
        arch = await server.start(say("hello"), identity="arch", **ASKING)
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            for number in range(10):
                file = f"file-{number}"
                await server.reply("arch", escalate(file), background=True)
                asked = await tui.told(APPROVAL)
                (question,) = structured(await server.run("codex_approvals", {}))["approvals"]
                approves = number % 2 == 0
                mine, theirs = ("accept", "denied") if approves else ("decline", "approved")
                call = server.call("codex_approvals", {"id": question["id"], "decision": theirs})
                tui.send({"id": asked["id"], "result": {"decision": mine}})
                await server.result(call)
                await tui.told("serverRequest/resolved")
                await tui.told("turn/completed")
                line = approvals(server)[number]
                assert line["via"] in ("tui", "codex_approvals")
                assert (server.setup.work / file).exists() == (line["what"] == "approved")
        assert len(approvals(server)) == 10


async def test_a_tui_that_comes_later_is_asked_what_is_open(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, _model):
        arch = await server.start(say("hello"), identity="arch", **ASKING)
        await server.reply("arch", "[[scene: patch file=hello.txt line=hi]]", background=True)
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await server.run("codex_wait", {"ids": ["arch"]})  # which the question ends
            await tui.open()
            asked = await tui.told("item/fileChange/requestApproval")
            item = await tui.until(
                lambda message: message.get("method") == "item/started" and "hello.txt" in str(message)
            )
            assert item["params"]["item"]["id"] == asked["params"]["itemId"]
            assert item["params"]["item"]["changes"][0]["diff"] == "hi\n"
            tui.send({"id": asked["id"], "result": {"decision": "nonsense"}})
            warning = await tui.told("warning")
            assert "decides nothing" in warning["params"]["message"]
        assert (await server.status())["pending_approvals"] == 1, "leaving decides nothing either"
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            asked = await tui.told("item/fileChange/requestApproval")
            tui.send({"id": asked["id"], "result": {"decision": "accept"}})
            await tui.told("turn/completed")
        assert (server.setup.work / "hello.txt").read_text() == "hi\n"


async def test_a_sub_agent_asks_in_the_tui_of_its_agent(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=OWN_TURNS, elicitation=False) as (server, _model):
        arch = await server.start("[[scene: spawn_asking]]", identity="arch", background=True)
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            asked = await tui.told(APPROVAL)
            assert asked["params"]["threadId"] == tui.thread
            assert asked["params"]["reason"].startswith("Sub-agent ")
            tui.send({"id": asked["id"], "result": {"decision": "accept"}})
            await tui.told("serverRequest/resolved")
        await server.until(lambda: [line["via"] for line in approvals(server)] == ["tui"])


async def test_pictures_go_along_if_they_can_be_read(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        arch = await server.start(say("hello"), identity="arch")
        picture = server.setup.work / "dot.png"
        picture.write_bytes(base64.b64decode(DOT))
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            missing = await tui.ask("turn/start", input=[{"type": "localImage", "path": str(picture) + "x"}])
            assert "is no file" in missing["error"]["message"]
            seen = await tui.ask(
                "turn/start", input=[*said(say("a dot")), {"type": "localImage", "path": str(picture)}]
            )
            assert "result" in seen
            await tui.told("turn/completed")
        assert b"data:image/png;base64," in model.requests[-1].body


async def test_nothing_that_a_tui_sends_changes_a_setting(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        arch = await server.start(say("hello"), identity="arch", **ASKING)
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open(sandbox="danger-full-access", approvalPolicy="never", cwd="/")
            typed = await tui.ask(
                "turn/start",
                input=said('[[scene: run cmd="pwd; touch made"]]'),
                cwd="/",
                sandboxPolicy={"type": "dangerFullAccess"},
                approvalPolicy="never",
                model="another",
                runtimeWorkspaceRoots=["/"],
            )
            assert "result" in typed
            await tui.told("turn/completed")
            for method in (
                "thread/settings/update",
                "thread/start",
                "config/batchWrite",
                "thread/fork",
                "turn/nonsense",
            ):
                assert "error" in await tui.ask(method, sandbox="danger-full-access"), method
            shell = await tui.ask("thread/shellCommand", command="touch shelled")
            assert "result" in shell
            assert "cannot run commands" in (await tui.told("error"))["params"]["error"]["message"]
            for method in ("thread/read", "thread/resume", "turn/start", "turn/interrupt"):
                refused = await tui.ask(method, threadId="01a1f57e-e8c2-7420-940f-a2ce0f80f68a", input=said("x"))
                assert "no such conversation" in refused["error"]["message"], method
            listed = await tui.ask("thread/list", archived=False)
            assert [each["id"] for each in listed["result"]["data"]] == [tui.thread]
            assert (await tui.ask("thread/loaded/list"))["result"]["data"] == [tui.thread]
            assert "mcp_servers" not in (await tui.ask("config/read"))["result"]["config"]
        again = await server.reply("arch", '[[scene: run cmd="pwd"]]')
        assert str(server.setup.work) in again["content"]
        assert json.loads(model.requests[-1].body)["model"] != "another"
        assert not {"made", "shelled"} & set(os.listdir(server.setup.work))


async def test_who_may_only_watch_sees_everything_and_does_nothing(tmp_path: Path) -> None:
    async with team_server(tmp_path, elicitation=False) as (server, _model):
        arch = await server.start(say("hello"), identity="arch", **ASKING)
        path = await socket_of(server)
        viewer = attached_tui(path, arch["codex_id"], hello={**HELLO, "view": True})
        async with attached_tui(path, arch["codex_id"], read_only=True) as tui, viewer as other:
            for each in (tui, other):
                await each.open()
            await server.reply("arch", escalate("one"), background=True)
            turn = (await tui.told("turn/started"))["params"]["turn"]["id"]
            for each in (tui, other):
                for method in ("turn/start", "turn/steer", "turn/interrupt"):
                    refused = await each.ask(method, input=said("x"), turnId=turn, expectedTurnId=turn)
                    assert "only watches" in refused["error"]["message"], method
            await server.run("codex_wait", {"ids": ["arch"]})  # which the question ends
            assert (await server.status())["pending_approvals"] == 1
            (question,) = structured(await server.run("codex_approvals", {}))["approvals"]
            await server.run("codex_approvals", {"id": question["id"], "decision": "denied"})
            for each in (tui, other):
                await each.told("turn/completed")
                assert not [message for message in each.came if message.get("method") == APPROVAL]
        assert await people(server, "arch") == []


async def test_limits_and_the_queue_hold_for_a_person_too(tmp_path: Path) -> None:
    async with team_server(tmp_path, "--turns-per-hour", "2") as (server, model):
        arch = await server.start(say("hello"), identity="arch")
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            await server.reply("arch", GATE, background=True)
            await tui.told("turn/started")
            refused = await tui.type(say("too much"))
            assert "paused" in refused["error"]["message"]
            model.release("gate")
            await tui.told("turn/completed")


async def test_a_prompt_for_a_busy_agent_waits_its_turn(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        arch = await server.start(say("hello"), identity="arch")
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            call = server.call("codex-reply", {"identity": "arch", "prompt": GATE})
            first = (await tui.told("turn/started"))["params"]["turn"]["id"]
            typed = tui.start("turn/start", input=said(say("second")))
            await server.until(lambda: any(line.get("what") == "prompted" for line in server.audit()))
            model.release("gate")
            assert structured(await server.result(call))["content"] == "The gate is open."
            assert (await tui.answer(typed))["result"]["turn"]["id"] != first
        done = structured(await server.run("codex_wait", {"ids": ["arch"], "mode": "all"}))
        assert done["finished"][-1]["content"] == "second"


async def test_whoever_leaves_disturbs_nothing(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        arch = await server.start(say("hello"), identity="arch")
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            call = server.call("codex-reply", {"identity": "arch", "prompt": GATE})
            await tui.told("turn/started")
            assert (await tui.ask("thread/unsubscribe"))["result"] == {"status": "unsubscribed"}
        model.release("gate")
        assert structured(await server.result(call))["content"] == "The gate is open."
        assert (await server.reply("arch", say("still here")))["content"] == "still here"


async def test_another_principals_agent_does_not_exist(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        arch = await server.start(say("hello"), identity="arch")
        async with raw_control(await socket_of(server), {**HELLO, "as": "mira"}) as client:
            mine = await client.ask("control/attach", {"agent": arch["codex_id"]})
            none = await client.ask("control/attach", {"agent": "codex:000000000000"})
        assert mine["error"]["message"].replace(arch["codex_id"], "X") == none["error"]["message"].replace(
            "codex:000000000000", "X"
        )


async def test_a_closed_agent_ends_the_connection_and_a_dead_codex_too(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        arch = await server.start(say("hello"), identity="arch")
        path = await socket_of(server)
        async with attached_tui(path, arch["codex_id"]) as tui:
            await tui.open()
            os.kill((await server.status())["core"]["pid"], 9)
            assert await tui.at_the_end()
        async with attached_tui(path, arch["codex_id"]) as tui:  # a new Codex has the conversation
            assert "hello" in json.dumps((await tui.open())["thread"]["turns"])
            await server.close_agent("arch")
            assert await tui.at_the_end()


async def test_a_tui_that_floods_gets_errors_and_one_that_does_not_read_is_let_go(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        arch = await server.start(say("hello"), identity="arch")
        path = await socket_of(server)
        async with attached_tui(path, arch["codex_id"]) as tui:
            await tui.open()
            numbers = [tui.start(f"unknown/method-{number}") for number in range(300)]
            numbers += [tui.start("thread/read", includeTurns=True) for _ in range(300)]
            for number in numbers:
                answer = await tui.answer(number)
                assert "result" in answer or answer["error"]["code"] in (-32601, -32001)
        async with attached_tui(path, arch["codex_id"]) as tui:
            await tui.open()
            tui.control.stop_reading()
            piece = "x" * 4000
            await server.reply("arch", f'[[scene: stream piece="{piece}" count=2000]]', background=True)
            done = structured(await server.run("codex_wait", {"ids": ["arch"]}))
            assert done["finished"][-1]["status"] == "completed", "the agent is not held up"
            tui.control.read_on()
            assert await tui.at_the_end()
            assert not [each for each in tui.came if each.get("method") == "turn/completed"]
        assert (await server.reply("arch", say("fine")))["content"] == "fine"


async def test_tools_of_ours_are_nothing_to_a_tui(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        arch = await server.start(say("hello"), identity="arch")
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            await tui.open()
            message = json.dumps({"to": "arch", "message": "to myself"}).replace('"', '\\"')
            await server.reply("arch", f'[[scene: call tool=atm_send arguments="{message}"]]')
            await tui.told("turn/completed")
            assert not [each for each in tui.came if each.get("method") == "item/tool/call"]


@pytest.mark.parametrize("twice", [True, False])
async def test_a_connection_is_attached_once_and_then_a_tuis_only(tmp_path: Path, *, twice: bool) -> None:
    async with team_server(tmp_path) as (server, _model):
        arch = await server.start(say("hello"), identity="arch")
        async with attached_tui(await socket_of(server), arch["codex_id"]) as tui:
            method = "control/attach" if twice else "tools/call"
            refused = await tui.ask(method, agent=arch["codex_id"], name="codex_close")
            assert "not offered to a TUI" in refused["error"]["message"]
