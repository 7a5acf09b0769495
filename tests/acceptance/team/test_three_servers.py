"""Two servers over stdio and one over HTTP on a folder: it makes no difference which one is called, in either era."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.team.test_hop import ASKS, ESCALATE, lasting
from tests.support.http.mcp_client import call, notification
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.neighbours import APPROVED, client_of, web_server
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, refusal, say, structured

Run: TypeAlias = Callable[[str, Json], Coroutine[Any, Any, Json]]

ERAS = ("handshake", "stateless")
OWNERS = ("stdio", "http")


class Servers:
    """How a client of each server calls a tool: at the owner, and at the other two."""

    def __init__(self, model: ScriptedModel, at_owner: Run, there: dict[str, Run], owner: int) -> None:
        self.model = model
        self.at_owner = at_owner
        self.there = there
        self.owner_pid = owner

    async def same(self, tool: str, arguments: Json) -> Json:
        """What all of them say, which is the same but for what differs each time."""
        said = _of_both_eras(await self.at_owner(tool, arguments))
        for name, run in self.there.items():
            assert _of_both_eras(await run(tool, arguments)) == said, (tool, arguments, name)
        return said


def _of_both_eras(result: Json) -> Json:
    return {name: value for name, value in lasting(result).items() if name not in ("resultType", "_meta")}


def of(server: TeamServer) -> Run:
    """A client over stdio, which approves what it is asked."""

    async def run(tool: str, arguments: Json) -> Json:
        call, answered = server.call(tool, arguments), set[int]()

        def is_news(message: Json) -> bool:
            is_question = message.get("method") == "elicitation/create" and message["id"] not in answered
            return is_question or (message.get("id") == call and "method" not in message)

        already = {each["id"] for each in server.messages if each.get("method") == "elicitation/create"}
        answered |= already
        while "method" in (message := await server.wait_for(is_news)):
            answered.add(message["id"])
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": APPROVED})
        return await server.result(call)

    return run


@contextlib.asynccontextmanager
async def three(team: Team, era: str, owner: str) -> AsyncIterator[Servers]:
    async with (
        team(script=TEAM_SCRIPT) as (one, model),
        team(script=TEAM_SCRIPT) as (other, _),
        web_server(one) as web,
    ):
        client = await client_of(web, era)
        if owner == "stdio":
            yield Servers(model, of(one), {"stdio": of(other), "http": client.run}, one.process.pid)
        else:
            yield Servers(model, client.run, {"one": of(one), "other": of(other)}, web.process.pid)


def content(result: Json) -> str:
    """The answer."""
    text: str = structured(result)["content"]
    return text


@requirement("FR-2.5", "FR-3.1")
@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_is_the_same_at_all_three(team: Team, era: str, owner: str) -> None:
    async with three(team, era, owner) as servers:
        arch = structured(await servers.at_owner("codex", {"prompt": say("one"), "identity": "arch", **ASKS}))
        codex_id, thread = arch["codex_id"], arch["threadId"]
        for name in ({"id": "arch"}, {"codex_id": codex_id}, {"threadId": thread}, {"conversationId": thread}):
            await servers.same("codex-reply", {**name, "prompt": say("two")})
        await servers.same("codex", {"codex_id": codex_id, "prompt": say("three")})
        await servers.same("codex-reply", {"id": "arch", "prompt": say("four"), "rollback": 1})
        await servers.same("codex-reply", {"id": "arch", "prompt": ESCALATE})
        for tool, arguments in (
            ("codex-reply", {"id": "arch"}),
            ("codex-reply", {"id": "arch", "identity": "another", "prompt": "x"}),
            ("codex-reply", {"id": "arch", "prompt": "x", "when": "never"}),
            ("codex", {"identity": "arch", "prompt": "x"}),
            ("codex_wait", {"ids": ["arch"], "timeout-seconds": 0, "again": True}),
            ("codex_wait", {"ids": ["missing"]}),
            ("codex_diff", {"id": "arch"}),
            ("codex_diff", {"id": "arch", "of": "thread", "stat": True}),
            ("codex_review", {"id": "arch"}),
            ("codex_interrupt", {"id": "arch"}),
        ):
            await servers.same(tool, arguments)
        for number, run in enumerate([servers.at_owner, *servers.there.values()]):
            # A turn that one client begins is steered, waited for and interrupted by each of them.
            held = f"held-{number}"
            begun = {"id": "arch", "prompt": gate(held), "background": True}
            assert structured(await servers.at_owner("codex-reply", begun))["status"] == "running"
            await servers.model.wait_for_gate(held)
            waiting = structured(await run("codex_wait", {"ids": ["arch"], "timeout-seconds": 0}))
            assert [each["identity"] for each in waiting["running"]] == ["arch"]
            steer = {"id": "arch", "prompt": say(f"steered-{number}"), "when": "steer"}
            assert content(await run("codex-reply", steer)) == f"steered-{number}"
            again = f"again-{number}"
            begun = {"id": "arch", "prompt": gate(again), "background": True}
            assert structured(await run("codex-reply", begun))["status"] == "running"
            await servers.model.wait_for_gate(again)
            assert structured(await run("codex_interrupt", {"id": "arch"}))["status"] == "interrupted"
            look = {"ids": ["arch"], "again": True, "timeout-seconds": 0}
            (ended,) = structured(await run("codex_wait", look))["finished"]
            assert ended["status"] == "interrupted"
            copy = structured(await run("codex", {"fork_from": "arch", "prompt": say("copied")}))
            assert copy["content"] == "copied"
            listed = structured(await run("codex_threads", {"id": copy["codex_id"]}))["threads"]
            assert [each["owner"]["pid"] for each in listed] == [servers.owner_pid]
            assert structured(await run("codex_close", {"id": copy["codex_id"]}))["status"] == "closed"
        last = list(servers.there.values())[-1]
        assert structured(await last("codex_close", {"id": "arch"}))["status"] == "closed"
        await servers.same("codex-reply", {"id": "arch", "prompt": "x"})
        await servers.same("codex_close", {"id": "arch"})


@requirement("FR-3.1", "FR-3.2")
@pytest.mark.parametrize("era", ERAS)
async def test_a_question_a_cancel_and_a_cut_at_a_client_over_http(team: Team, era: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        other, _ = await stack.enter_async_context(team(script=TEAM_SCRIPT))
        one, model = await stack.enter_async_context(team(script=TEAM_SCRIPT, elicitation=False))
        web = await stack.enter_async_context(web_server(one))
        client = await client_of(web, era)
        arch = await one.start(say("one"), identity="arch", **ASKS)
        # Nobody can be asked at the owner: each other server lists the question, and any of them answers it.
        await one.reply("arch", ESCALATE, background=True)
        asked: list[Json] = []
        while not asked:
            asked = structured(await client.run("codex_approvals", {}))["approvals"]
        (listed,) = structured(await other.run("codex_approvals", {}))["approvals"]
        assert listed["id"] == asked[0]["id"]
        await client.run("codex_approvals", {"id": listed["id"], "decision": "approved"})
        (ended,) = structured(await one.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert ended["content"] == "It ran."
        # A client that hangs up leaves its turn to go on, in either era; a cancel ends it.
        leaving = client.sent(call("left", "codex-reply", {"id": "arch", "prompt": gate("left")}))
        async with client.door.waiting("POST", leaving[0], **leaving[1]):
            await model.wait_for_gate("left")
        if era == "handshake":
            cancel = notification("notifications/cancelled", requestId="left", reason="enough")
            assert (await client.door.ask("POST", cancel)).status == 202
            await one.until(lambda: one.audit()[-1]["outcome"] == "interrupted")
        else:
            model.release("left")
        await one.until(lambda: "idle" in str(one.registry()[arch["codex_id"]]["thread_state"]))
        # The owner is stopped, then killed, in the middle of a call.
        for number, way in ((1, signal.SIGSTOP), (2, signal.SIGKILL)):
            async with asyncio.TaskGroup() as group:
                prompt = {"id": "arch", "prompt": gate(f"cut-{number}")}
                cut = group.create_task(client.run("codex-reply", prompt))
                await model.wait_for_gate(f"cut-{number}")
                os.kill(one.process.pid, way)
            told = refusal(cut.result())
            if way is signal.SIGSTOP:
                os.kill(one.process.pid, signal.SIGCONT)
                assert f"server process {one.process.pid} does not answer" in told
                model.release(f"cut-{number}")
                *_, ended = structured(await client.run("codex_wait", {"ids": ["arch"]}))["finished"]
                assert ended["content"] == "The gate is open."
            else:
                assert "has ended before it answered" in told
        assert (await other.reply("arch", say("on")))["threadId"] == arch["threadId"]
        again = structured(await client.run("codex-reply", {"id": "arch", "prompt": say("and on")}))
        assert again["content"] == "and on"
