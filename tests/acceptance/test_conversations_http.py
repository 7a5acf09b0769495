"""The conversation methods over HTTP: every endpoint serves them, and a principal finds only what is its own."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.recordings.exchange import SCENES, scene
from tests.support.http.crowd import BusVisitor, McpVisitor, PostingVisitor, SocketVisitor, StatelessVisitor
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import Json, notification, request
from tests.support.patience import PATIENCE
from tests.support.processes import processes_at
from tests.support.servers.conversations import items, turn
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import Setup

TOKENS = {name: f"the-token-of-{name}" for name in ("alice", "bob", "carol")}


def write_tokens(folder: Path, admins: tuple[str, ...] = ("carol",)) -> Path:
    path = folder / "tokens"
    path.write_text("".join(f"{name} {token}{' admin' * (name in admins)}\n" for name, token in TOKENS.items()))
    return path


@contextlib.asynccontextmanager
async def serving(folder: Path, *flags: str, command: str = "mcp-server") -> AsyncIterator[ChildServer]:
    """A server with tokens, on a scripted model."""
    async with ScriptedModel(load_script(SCENES)) as model:
        setup = Setup(folder, model.codex_overrides(), [*flags, "--tokens", str(write_tokens(folder))], command=command)
        async with http_server(setup) as server:
            yield server


@contextlib.asynccontextmanager
async def visiting(server: ChildServer, name: str, kind: type[Any] = McpVisitor) -> AsyncIterator[Any]:
    async with kind(server.port, TOKENS[name], name).visit() as visitor:
        yield visitor


async def answer(visitor: PostingVisitor, method: str, **params: object) -> Json:
    """The whole answer to a request."""
    return await visitor.session.post(request(str(uuid4()), method, **params))


async def result(visitor: PostingVisitor, method: str, **params: object) -> Json:
    got = await answer(visitor, method, **params)
    assert "result" in got, got
    found: Json = got["result"]
    return found


async def error(visitor: PostingVisitor, method: str, **params: object) -> tuple[int, str]:
    """Code and text, with ids left out, so that two of them can be compared."""
    got = await answer(visitor, method, **params)
    assert "error" in got, got
    return got["error"]["code"], re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UUID", got["error"]["message"])


async def talked(visitor: PostingVisitor, text: str) -> Json:
    """A conversation in which something was said."""
    made = await result(visitor, "newConversation")
    conversation = made["conversationId"]
    async with visitor.session.stream("GET", accept="text/event-stream") as events:
        await result(visitor, "addConversationListener", conversationId=conversation)
        await result(visitor, "sendUserMessage", conversationId=conversation, items=items(scene("say", text=text)))
        await events.until(method="codex/event/task_complete")
    return made


@pytest.mark.parametrize("command", ["mcp-server", "serve"])
@pytest.mark.parametrize("kind", [McpVisitor, BusVisitor])
async def test_every_endpoint_carries_events_and_questions(tmp_path: Path, kind: type[Any], command: str) -> None:
    async with serving(tmp_path, command=command) as server, visiting(server, "alice", kind) as alice:
        conversation = (await result(alice, "newConversation"))["conversationId"]
        async with alice.session.stream("GET", accept="text/event-stream") as events:
            await result(alice, "addConversationListener", conversationId=conversation)
            sent = turn(conversation, scene("run", cmd="touch made"), server.setup.work, approvalPolicy="untrusted")
            assert await result(alice, "sendUserTurn", **sent) == {}
            question = await events.until(method="execCommandApproval")
            assert question["params"]["conversationId"] == conversation
            await alice.reply(question["id"], {"decision": "allow"})
            done = await events.until(method="codex/event/task_complete")
            assert done["params"]["conversationId"] == conversation
        assert (server.setup.work / "made").exists()


async def test_a_web_socket_carries_events_and_questions(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visiting(server, "alice", SocketVisitor) as alice:

        async def heard(**wanted: object) -> Json:
            while True:
                message: Json = await alice.hear()
                if all(message.get(key) == value for key, value in wanted.items()):
                    return message

        async def ask(method: str, **params: object) -> Json:
            await alice.say(request(method, method, **params))
            found: Json = (await heard(id=method))["result"]
            return found

        conversation = (await ask("newConversation"))["conversationId"]
        await ask("addConversationListener", conversationId=conversation)
        await ask("sendUserMessage", conversationId=conversation, items=items(scene("escalate")))
        question = await heard(method="execCommandApproval")
        await alice.reply(question["id"], {"decision": "denied"})
        await heard(method="codex/event/task_complete")
        assert not (server.setup.work / "made.txt").exists()


async def test_a_stateless_request_finds_no_such_method(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visiting(server, "alice", StatelessVisitor) as alice:
        for method in ("newConversation", "getUserAgent", "loginApiKey"):
            refused = await alice.once(request(1, method))
            assert refused["error"]["code"] == -32601


USES = (
    "sendUserMessage",
    "interruptConversation",
    "addConversationListener",
    "getConversationSummary",
    "resumeConversation",
)


async def test_a_conversation_of_another_does_not_exist(tmp_path: Path) -> None:
    async with (
        serving(tmp_path) as server,
        visiting(server, "alice") as alice,
        visiting(server, "alice") as other_alice,
        visiting(server, "bob") as bob,
    ):
        made = await talked(alice, "of alice")
        nowhere = str(uuid4())
        missing = made["rolloutPath"].replace(made["conversationId"], nowhere)

        async def tried(visitor: PostingVisitor, conversation: str, path: str) -> list[tuple[int, str]]:
            given = {"conversationId": conversation, "items": items("x")}
            errors = [await error(visitor, method, **given) for method in USES]
            sent = turn(conversation, "x", server.setup.work)
            errors.append(await error(visitor, "sendUserTurn", **sent))
            errors.append(await error(visitor, "archiveConversation", conversationId=conversation, rolloutPath=path))
            errors.append(await error(visitor, "resumeConversation", path=path))
            errors.append(await error(visitor, "getConversationSummary", rolloutPath=path))
            return [(code, text.replace(conversation, "")) for code, text in errors]

        foreign = await tried(bob, made["conversationId"], made["rolloutPath"])
        assert foreign == await tried(bob, nowhere, missing)
        assert {text for _, text in foreign[:6]} == {"conversation not found: UUID"}
        assert await result(bob, "listConversations") == {"items": []}
        (listed,) = (await result(alice, "listConversations"))["items"]
        assert listed["conversationId"] == made["conversationId"]

        # Another session of the same principal sees it in the history, and has to resume it first.
        used = {"conversationId": made["conversationId"], "items": items("x")}
        for method in USES[:3]:
            assert await error(other_alice, method, **used) == (-32600, "conversation not found: UUID")
        archive = {"conversationId": made["conversationId"], "rolloutPath": made["rolloutPath"]}
        assert await error(other_alice, "archiveConversation", **archive) == (-32600, "conversation not found: UUID")
        assert (await result(other_alice, "resumeConversation", path=made["rolloutPath"]))["initialMessages"]
        await result(other_alice, "interruptConversation", conversationId=made["conversationId"])

        # A subscription of another cannot be removed.
        listening = await result(alice, "addConversationListener", conversationId=made["conversationId"])
        for visitor in (bob, other_alice):
            refused = await error(visitor, "removeConversationListener", **listening)
            assert refused == (-32600, "subscription not found: UUID")
        await result(alice, "removeConversationListener", **listening)


async def test_each_principal_has_pages_of_its_own(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visiting(server, "alice") as alice, visiting(server, "bob") as bob:
        made: dict[str, list[str]] = {"alice": [], "bob": []}
        for number in range(2):
            for visitor in (alice, bob):
                made[visitor.mark].insert(0, (await talked(visitor, f"{number}"))["conversationId"])
        for visitor in (alice, bob):
            first = await result(visitor, "listConversations", pageSize=1)
            last = await result(visitor, "listConversations", pageSize=1, cursor=first["nextCursor"])
            assert "nextCursor" not in last
            assert [item["conversationId"] for item in (*first["items"], *last["items"])] == made[visitor.mark]


async def test_a_shared_history_is_open_to_every_principal(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, "--shared-history") as server,
        visiting(server, "alice") as alice,
        visiting(server, "bob") as bob,
    ):
        made = await talked(alice, "of alice")
        (listed,) = (await result(bob, "listConversations"))["items"]
        assert listed["conversationId"] == made["conversationId"]
        resumed = await result(bob, "resumeConversation", conversationId=made["conversationId"])
        assert resumed["initialMessages"][-1]["message"] == "of alice"
        sent = {"conversationId": made["conversationId"], "items": items(scene("say"))}
        assert await result(bob, "sendUserMessage", **sent) == {}
        for resource in (await result(bob, "resources/list"))["resources"]:
            assert (await result(bob, "resources/read", uri=resource["uri"]))["contents"], resource
        strange = await talked(alice, "only of alice")
        _, text = await error(bob, "resources/read", uri=f"codex://threads/{strange['conversationId']}")
        assert "Resource not found" in text


ADMINISTRATION = {
    "loginApiKey": {"apiKey": "sk-test-123"},
    "logoutChatGpt": {},
    "cancelLoginChatGpt": {"loginId": str(uuid4())},
    "loginChatGpt": {},
    "setDefaultModel": {"model": "other"},
}


async def may_administer(visitor: PostingVisitor) -> bool:
    """Whether it is let in; a login that does not exist is cancelled, which changes nothing."""
    _, text = await error(visitor, "cancelLoginChatGpt", loginId=str(uuid4()))
    assert text == "login id not found: UUID" or "needs administration" in text
    return text == "login id not found: UUID"


async def test_only_an_administrator_changes_the_sign_in_and_nobody_gets_the_token(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, "-c", 'model_provider="openai"') as server,
        visiting(server, "bob") as bob,
        visiting(server, "carol") as carol,
    ):
        for method, params in ADMINISTRATION.items():
            code, text = await error(bob, method, **params)
            assert code == -32600
            assert "needs administration" in text
        assert not (server.setup.codex_home / "auth.json").exists()
        assert await result(bob, "userInfo") == {"allegedUserEmail": None}

        async with (
            carol.session.stream("GET", accept="text/event-stream") as events,
            bob.session.stream("GET", accept="text/event-stream") as of_bob,
        ):
            assert await result(carol, "loginApiKey", apiKey="sk-test-123") == {}
            assert (await events.until(method="authStatusChange"))["params"] == {
                "authMethod": "apikey",
                "auth_mode": "ApiKey",
            }
            for visitor in (bob, carol):
                status = await result(visitor, "getAuthStatus", includeToken=True)
                assert status == {"authMethod": "apikey", "requiresOpenaiAuth": True}
            assert await result(carol, "logoutChatGpt") == {}
            assert (await events.until(method="authStatusChange"))["params"] == {}
            # Bob was told nothing: the first message on his stream is about something else.
            assert (await bob.session.ask("POST", request("close", "shutdown"))).status == 200
            assert await of_bob.rest() == []

        write_tokens(tmp_path, admins=())
        while await may_administer(carol):
            pass


async def test_without_tokens_nobody_administers_over_http(tmp_path: Path) -> None:
    async with (
        ScriptedModel(load_script(SCENES)) as model,
        http_server(Setup(tmp_path, model.codex_overrides())) as server,
        McpVisitor(server.port, "", "anybody").visit() as anybody,
    ):
        assert not await may_administer(anybody)


async def test_the_generated_token_administers(tmp_path: Path) -> None:
    async with (
        ScriptedModel(load_script(SCENES)) as model,
        http_server(Setup(tmp_path, model.codex_overrides(), ["--generate-token"])) as server,
    ):
        token = (server.setup.codex_home / "codex-mcp/token").read_text().strip()
        async with McpVisitor(server.port, token, "owner").visit() as owner:
            assert await may_administer(owner)


async def until_gone(home: Path, program: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while any(program in process.argv for process in processes_at(home)):
            await asyncio.to_thread(os.sched_yield)


async def test_a_conversation_stays_when_its_session_reconnects_and_a_command_ends_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visiting(server, "alice", BusVisitor) as alice:
        conversation = (await result(alice, "newConversation"))["conversationId"]
        # On the bus a session is closed by `shutdown`, and the same id opens it again.
        script = f"echo > {server.setup.work}/bell; sleep 600"
        full = {"mode": "danger-full-access"}
        running = request(
            "slow", "execOneOffCommand", command=["sh", "-c", script], timeoutMs=600_000, sandboxPolicy=full
        )
        async with doorbell(server.setup.work / "bell") as rung, alice.session.waiting("POST", running):
            await rung.wait()
            assert (await alice.session.post(request("close", "shutdown")))["result"] == {}
            await until_gone(server.setup.home, "sleep")
        assert await result(alice, "interruptConversation", conversationId=conversation) == {
            "abortReason": "interrupted"
        }


async def test_a_command_ends_when_its_client_cancels_the_request_or_hangs_up(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visiting(server, "alice") as alice:

        def slow(name: str) -> Json:
            command = ["sh", "-c", f"echo > {server.setup.work / name}; sleep 600"]
            full = {"mode": "danger-full-access"}
            return request(name, "execOneOffCommand", command=command, timeoutMs=600_000, sandboxPolicy=full)

        async with doorbell(server.setup.work / "slow") as rung, asyncio.TaskGroup() as tasks:
            posted = tasks.create_task(alice.session.post(slow("slow")))
            await rung.wait()
            await alice.session.ask("POST", notification("notifications/cancelled", requestId="slow"))
        assert posted.result()["error"] == {"code": -32603, "message": "exec failed: the request was cancelled"}
        await until_gone(server.setup.home, "sleep")
        async with doorbell(server.setup.work / "lost") as rung, alice.session.waiting("POST", slow("lost")):
            await rung.wait()
        await until_gone(server.setup.home, "sleep")


async def test_a_deleted_session_stops_its_messages(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visiting(server, "alice") as alice, visiting(server, "bob") as bob:
        for visitor, seconds in ((alice, "601"), (bob, "602")):
            conversation = (await result(visitor, "newConversation", sandbox="danger-full-access"))["conversationId"]
            async with doorbell(server.setup.work / seconds) as rung:
                sleep = scene("run", cmd=f"echo > {server.setup.work}/{seconds}; sleep {seconds}")
                await result(visitor, "sendUserMessage", conversationId=conversation, items=items(sleep))
                await rung.wait()
        await alice.session.ask("DELETE")
        await until_gone(server.setup.home, "601")
        assert any("602" in process.argv for process in processes_at(server.setup.home))
