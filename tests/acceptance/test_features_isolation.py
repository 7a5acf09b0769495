"""Several principals over HTTP: threads, completion, subscriptions, log messages and prompts of one reach no other."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.crowd import BusVisitor, McpVisitor, StatelessVisitor
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import SESSION, Door, Json, call, initialize, request, stateless
from tests.support.servers.mcp_server import TOUR, Setup

TOKENS = {name: f"the-token-of-{name}" for name in ("alice", "bob")}
NOWHERE = "01a1e831-dce0-70c0-9750-9b26e0022257"
TEMPLATE = {"type": "ref/resource", "uri": "codex://threads/{id}"}


@contextlib.asynccontextmanager
async def a_server(folder: Path) -> AsyncIterator[ChildServer]:
    """A server with tokens. Servers of one folder have the same threads."""
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    for name in TOKENS:
        (folder / name).mkdir(exist_ok=True)
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(folder, model.codex_overrides(), ["--tokens", str(tokens)])
        async with http_server(setup) as server:
            yield server


async def ask(door: Door, method: str, **params: object) -> Json:
    return await door.post(request(1, method, **params))


async def run(door: Door, cwd: Path, prompt: str = "[[scene: hello]]") -> str:
    """Run a turn in a new thread; its id."""
    async with door.stream("POST", call(5, "codex", {"prompt": prompt, "cwd": str(cwd)})) as events:
        answer = await events.until(id=5)
    thread: str = answer["result"]["structuredContent"]["threadId"]
    return thread


def refused(answer: Json, thread: str) -> str:
    """An answer without the id that the caller sent itself."""
    assert "error" in answer
    return msgspec.json.encode(answer).decode().replace(thread, "ID")


async def test_a_thread_of_another_principal_looks_like_an_unknown_one(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        alice = McpVisitor(server.port, TOKENS["alice"], "")
        bob = McpVisitor(server.port, TOKENS["bob"], "")
        async with alice.visit(), bob.visit():
            hers = await run(alice.session, tmp_path / "alice")
            his = await run(bob.session, tmp_path / "bob")
            listed = (await ask(bob.session, "resources/list"))["result"]["resources"]
            assert {each["uri"].split("/")[3] for each in listed} == {his}
            for method in ("resources/read", "resources/subscribe"):
                for view in ("", "/diff", "/rollout"):
                    tried = await ask(bob.session, method, uri=f"codex://threads/{hers}{view}")
                    unknown = await ask(bob.session, method, uri=f"codex://threads/{NOWHERE}{view}")
                    assert refused(tried, hers) == refused(unknown, NOWHERE)
            completed = await ask(
                bob.session, "completion/complete", ref=TEMPLATE, argument={"name": "id", "value": ""}
            )
            assert completed["result"]["completion"]["values"] == [his]
            read = await ask(alice.session, "resources/read", uri=f"codex://threads/{hers}")
            assert hers in read["result"]["contents"][0]["text"]


async def test_a_thread_that_is_no_longer_open_keeps_its_owner(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        alice = McpVisitor(server.port, TOKENS["alice"], "")
        async with alice.visit():
            hers = await run(alice.session, tmp_path / "alice")
    async with a_server(tmp_path) as server:
        alice = McpVisitor(server.port, TOKENS["alice"], "")
        bob = McpVisitor(server.port, TOKENS["bob"], "")
        async with alice.visit(), bob.visit():
            for method in ("resources/read", "resources/subscribe"):
                tried = await ask(bob.session, method, uri=f"codex://threads/{hers}")
                unknown = await ask(bob.session, method, uri=f"codex://threads/{NOWHERE}")
                assert refused(tried, hers) == refused(unknown, NOWHERE)
                assert "result" in await ask(alice.session, method, uri=f"codex://threads/{hers}")


async def test_another_session_of_the_same_principal_lists_its_own_and_may_read_all(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        first = McpVisitor(server.port, TOKENS["alice"], "")
        second = McpVisitor(server.port, TOKENS["alice"], "")
        async with first.visit(), second.visit():
            thread = await run(first.session, tmp_path / "alice")
            assert (await ask(second.session, "resources/list"))["result"] == {"resources": []}
            assert "result" in await ask(second.session, "resources/read", uri=f"codex://threads/{thread}")


async def test_whoever_listens_without_a_handshake_hears_of_its_own_threads_alone(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        alice = McpVisitor(server.port, TOKENS["alice"], "")
        bob = StatelessVisitor(server.port, TOKENS["bob"], "")
        async with alice.visit():
            hers = await run(alice.session, tmp_path / "alice")
            arguments = {"prompt": "[[scene: hello]]", "cwd": str(tmp_path / "bob")}
            his = (await bob.once(call(1, "codex", arguments)))["result"]["structuredContent"]["threadId"]
            uris = [f"codex://threads/{thread}" for thread in (hers, his)]
            wanted = {"resourcesListChanged": True, "resourceSubscriptions": uris}
            message, headers = stateless(request(9, "subscriptions/listen", notifications=wanted))
            async with bob.door(**headers).stream("POST", message) as heard:
                acknowledged = await heard.message()
                assert acknowledged["params"]["notifications"] == {**wanted, "resourceSubscriptions": uris[1:]}
                reply = call(6, "codex-reply", {"threadId": hers, "prompt": "[[scene: hello]]"})
                async with alice.session.stream("POST", reply) as events:
                    await events.until(id=6)
                await run(alice.session, tmp_path / "alice")
                await bob.once(call(2, "codex-reply", {"threadId": his, "prompt": "[[scene: hello]]"}))
                told = await heard.message()
                assert told["params"]["uri"] == uris[1], "the first that it hears is its own"


async def test_log_messages_stay_with_their_session_even_if_another_has_the_same_id(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        doors = {name: Door(server.port, "/", authorization=f"Bearer {token}") for name, token in TOKENS.items()}
        for door in doors.values():
            door.headers[SESSION] = BusVisitor.session_id
            await door.post(initialize())
            assert (await ask(door, "logging/setLevel", level="info"))["result"] == {}
        async with doors["bob"].stream("GET", accept="text/event-stream") as heard:
            await doors["alice"].post(call(5, "codex", {"prompt": "[[scene: hello]]", "cwd": str(tmp_path / "alice")}))
            await doors["bob"].post(call(5, "codex", {"prompt": "[[scene: hello]]", "cwd": str(tmp_path / "bob")}))
            texts: list[str] = []
            while (message := await heard.message()).get("id") != 5:
                if message.get("method") == "notifications/message":
                    texts.append(message["params"]["data"])
        assert f"thread started in {tmp_path / 'bob'}" in texts
        assert not any(str(tmp_path / "alice") in text for text in texts)
        assert texts.count("call of codex") == 1


async def test_each_session_sees_the_prompts_of_its_own_root(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        for name, token in TOKENS.items():
            prompts = tmp_path / name / ".codex/prompts"
            prompts.mkdir(parents=True)
            (prompts / f"of-{name}.md").write_text("x")
            visitor = McpVisitor(server.port, token, "")
            async with visitor.visit():
                door = visitor.session
                answer = await visitor.door(accept=door.headers["accept"]).ask(
                    "POST", initialize("2025-11-25", {"roots": {}})
                )
                door.headers[SESSION] = answer.headers[SESSION]
                async with door.stream("POST", request(3, "prompts/list")) as events:
                    asked = await events.until(method="roots/list")
                    await visitor.reply(asked["id"], {"roots": [{"uri": (tmp_path / name).as_uri()}]})
                    listed = await events.until(id=3)
                assert [prompt["name"] for prompt in listed["result"]["prompts"]] == [f"of-{name}"]
                completed = await ask(
                    door,
                    "completion/complete",
                    ref={"type": "ref/prompt", "name": f"of-{name}"},
                    argument={"name": "PROMPT", "value": ""},
                )
                assert completed["result"]["completion"]["values"] == [f"of-{name}"]
