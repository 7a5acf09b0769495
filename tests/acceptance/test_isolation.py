"""Many clients of several principals at once: nothing of one reaches another, whatever it tries."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.client import Answer
from tests.support.http.crowd import SAME_ID, McpVisitor, StatelessVisitor, Visitor, crowd
from tests.support.http.http_server import ChildServer, http_server
from tests.support.http.mcp_client import BOTH, SESSION, Door, Json, call, notification, request, stateless
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Setup

SCRIPT = Path(__file__).parents[1] / "support/scripts/isolation.toml"

TOKENS = {name: f"the-token-of-{name}" for name in ("alice", "bob", "carol", "dave")}

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}

MARK = re.compile(r"<[a-z]+-\d>")

ACCEPT = {"action": "accept", "content": {}}
DECLINE = {"action": "decline"}

NOWHERE = str(uuid4())
"""A thread that nobody has."""


@contextlib.asynccontextmanager
async def model_and_setup(folder: Path) -> AsyncIterator[tuple[ScriptedModel, Setup]]:
    """What outlives a server: the model that it talks to, and its folder."""
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    async with ScriptedModel(load_script(SCRIPT)) as model:
        yield model, Setup(folder, model.codex_overrides(), ["--tokens", str(tokens)])


def work(visitor: Visitor, gate: str = "all") -> Json:
    return {"prompt": f'[[scene: work mark="{visitor.mark}" gate={gate}]]', **ASKS}


def content(result: Json) -> str:
    text: str = result["structuredContent"]["content"]
    return text


def marks(value: object) -> set[str]:
    return set(MARK.findall(msgspec.json.encode(value).decode()))


def alike(answer: Answer) -> tuple[object, ...]:
    """What an answer tells, without the ids that the caller sent itself."""
    body = re.sub(rb"[0-9a-f]{8}-[0-9a-f-]{27}", b"UUID", answer.body)
    headers = {name: text for name, text in answer.headers.items() if name not in ("date", SESSION, "content-length")}
    return answer.status, headers, body


async def run_one(visitor: Visitor) -> Json:
    """A turn of this visitor; every other one is refused what it asks for."""
    asked: list[Json] = []

    def decide(question: Json) -> Json:
        asked.append(question)
        return ACCEPT if visitor.mark.endswith(("0>", "3>", "4>")) else DECLINE

    result: Json = await visitor.codex("codex", work(visitor), decide)
    assert len(asked) == 1
    assert marks(asked) == {visitor.mark}
    return result


@pytest.mark.timeout(8 * PATIENCE)
async def test_twenty_sessions_of_four_principals_with_the_same_ids_hear_of_nothing_but_their_own(
    tmp_path: Path,
) -> None:
    async with (
        model_and_setup(tmp_path) as (model, setup),
        http_server(setup) as server,
        crowd(server.port, TOKENS) as visitors,
        asyncio.TaskGroup() as group,
    ):
        assert len(visitors) == 20
        turns = [group.create_task(run_one(visitor)) for visitor in visitors]
        await model.wait_for_gate("all", len(visitors))
        model.release("all")
        results = await asyncio.gather(*turns)
        for visitor, result in zip(visitors, results, strict=True):
            ending = "is done." if visitor.mark.endswith(("0>", "3>", "4>")) else "was refused."
            assert content(result) == f"{visitor.mark} {ending}"
            assert marks(visitor.heard) == {visitor.mark}, visitor.mark
        threads = {result["structuredContent"]["threadId"] for result in results}
        assert len(threads) == len(visitors)


class Burglar:
    """Somebody with a token of their own, who knows every id of somebody else's."""

    def __init__(self, port: int) -> None:
        self.visitor = McpVisitor(port, TOKENS["bob"], "<bob-9>")
        self.stateless = StatelessVisitor(port, TOKENS["bob"], "<bob-9>")

    async def reply_to(self, thread_id: str) -> Answer:
        """Continue a thread."""
        arguments = {"threadId": thread_id, "prompt": "What did she say?"}
        return await self.visitor.session.ask("POST", call(1, "codex-reply", arguments))

    async def wait_for(self, *thread_ids: str) -> Answer:
        """Collect the answers of threads."""
        arguments = {"threadIds": list(thread_ids), "timeoutSeconds": 0} if thread_ids else {"timeoutSeconds": 0}
        return await self.visitor.session.ask("POST", call(1, "codex_wait", arguments))

    async def knock(self, session_id: str, method: str, message: object = None, **headers: str) -> Answer:
        """Come to `/mcp` under a session id."""
        door = self.visitor.door(accept=BOTH, mcp_protocol_version="2025-11-25")
        return await door.ask(method, message, **{SESSION: session_id}, **headers)

    async def return_with(self, state: str, message: Json) -> Answer:
        """Answer a question that was put to somebody else."""
        params = {"requestState": state, "inputResponses": {"approval-1": ACCEPT}}
        sent, headers = stateless({**message, "params": {**message["params"], **params}}, elicitation={})
        return await self.stateless.door(**headers).ask("POST", sent)


async def assert_threads_are_out_of_reach(burglar: Burglar, thread_id: str) -> None:
    assert alike(await burglar.reply_to(thread_id)) == alike(await burglar.reply_to(NOWHERE))
    assert alike(await burglar.wait_for(thread_id)) == alike(await burglar.wait_for(NOWHERE))
    assert thread_id.encode() not in (await burglar.wait_for()).body


async def assert_session_is_out_of_reach(burglar: Burglar, session_id: str) -> None:
    made_up = session_id[:-8] + "AAAAAAAA"
    reply = {"jsonrpc": "2.0", "id": 0, "result": ACCEPT}
    cancel = notification("notifications/cancelled", requestId=SAME_ID)
    for message in (request(1, "ping"), reply, cancel, call(1, "codex_wait")):
        tried = await burglar.knock(session_id, "POST", message)
        assert alike(tried) == alike(await burglar.knock(made_up, "POST", message))
        assert tried.status == 404
    for method in ("GET", "DELETE"):
        tried = await burglar.knock(session_id, method)
        assert alike(tried) == alike(await burglar.knock(made_up, method))
        assert tried.status == 404


async def assert_bus_is_another_one(burglar: Burglar, session_id: str) -> None:
    """On the bus any id finds a session, and it is one's own."""
    door = burglar.visitor.door("/", **{SESSION: session_id})
    reply = {"jsonrpc": "2.0", "id": 0, "result": ACCEPT}
    assert (await door.ask("POST", reply)).status == 204
    assert await door.post(request(1, "ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    async with door.stream("GET", accept="text/event-stream", last_event_id="s-0:0") as events:
        await door.post(request(2, "ping"))
        assert (await events.message())["id"] == 2, "the first that it hears is its own"
    assert (await door.ask("DELETE")).status == 204


class Victim:
    """Alice, in the middle of a turn at each of two doors, each of which asks her something."""

    def __init__(self, server: ChildServer) -> None:
        self.visitor = McpVisitor(server.port, TOKENS["alice"], "<alice-0>")
        self.stateless = StatelessVisitor(server.port, TOKENS["alice"], "<alice-1>")
        self.call = call(SAME_ID, "codex", work(self.stateless))
        self.state = ""

    async def begin_stateless(self) -> str:
        """Come to the question; the thread."""
        result = (await self.stateless.once(self.call))["result"]
        self.state = result["requestState"]
        (asked,) = result["inputRequests"].values()
        thread_id: str = asked["params"]["threadId"]
        return thread_id

    async def end_stateless(self) -> Json:
        """Answer it."""
        params = {"requestState": self.state, "inputResponses": {"approval-1": ACCEPT}}
        message = {**self.call, "params": {**self.call["params"], **params}}
        result: Json = (await self.stateless.once(message))["result"]
        return result


async def test_whatever_somebody_else_tries_is_answered_as_if_there_were_nothing(tmp_path: Path) -> None:
    async with model_and_setup(tmp_path) as (model, setup):
        model.release("all")
        async with http_server(setup) as server:
            alice, bob = Victim(server), Burglar(server.port)
            async with alice.visitor.visit(), bob.visitor.visit():
                session_id = alice.visitor.session.headers[SESSION]
                async with alice.visitor.session.stream("POST", call(SAME_ID, "codex", work(alice.visitor))) as events:
                    first = await events.next()
                    assert first is not None
                    question = await events.until(method="elicitation/create")
                    threads = [question["params"]["threadId"], await alice.begin_stateless()]

                    for thread_id in threads:
                        await assert_threads_are_out_of_reach(bob, thread_id)
                    await assert_session_is_out_of_reach(bob, session_id)
                    await assert_bus_is_another_one(bob, session_id)
                    await assert_state_is_worth_nothing(bob, alice)
                    await assert_event_ids_lead_nowhere(bob, first.id)
                    # The id of the question is known; in another session it is another question, or none.
                    await bob.visitor.reply(question["id"], ACCEPT)
                    await bob.visitor.session.ask(
                        "POST", notification("notifications/cancelled", requestId=SAME_ID, reason="mine")
                    )

                    await alice.visitor.reply(question["id"], DECLINE)
                    answer = await events.until(id=SAME_ID)
                assert content(answer["result"]) == "<alice-0> was refused."
                assert content(await alice.end_stateless()) == "<alice-1> is done."
        await assert_the_same_after_a_restart(setup, alice.visitor, bob.visitor, threads)


async def assert_state_is_worth_nothing(bob: Burglar, alice: Victim) -> None:
    tampered = alice.state[:-4] + "AAAA"
    answers = [await bob.return_with(state, alice.call) for state in (alice.state, tampered, "nonsense")]
    assert len({repr(alike(answer)) for answer in answers}) == 1
    assert answers[0].status == 400
    assert msgspec.json.decode(answers[0].body)["error"]["code"] == -32602


async def assert_event_ids_lead_nowhere(bob: Burglar, event_id: str) -> None:
    """With the id of a message of hers, he gets the messages of his own session."""
    async with bob.visitor.session.stream("GET", last_event_id=event_id) as events:
        priming = await events.next()
        assert priming is not None
        assert priming.data == ""
        assert priming.id.partition(":")[0] != event_id.partition(":")[0]


async def assert_the_same_after_a_restart(setup: Setup, alice: McpVisitor, bob: McpVisitor, threads: list[str]) -> None:
    async with http_server(setup) as server:
        for door in (alice.session, bob.session):
            door.port = server.port
            door.headers["host"] = f"127.0.0.1:{server.port}"
        burglar = Burglar(server.port)
        burglar.visitor.session = bob.session
        session_id = alice.session.headers[SESSION]
        for thread_id in threads:
            await assert_threads_are_out_of_reach(burglar, thread_id)
        await assert_session_is_out_of_reach(burglar, session_id)
        await assert_bus_is_another_one(burglar, session_id)
        arguments = {"threadId": threads[0], "prompt": "Are you there?"}
        result = await alice.codex("codex-reply", arguments, lambda _: DECLINE)
        assert content(result) == "You said: Are you there?"
        for thread_id in threads:
            await assert_threads_are_out_of_reach(burglar, thread_id)


async def test_a_request_state_decides_once_and_for_its_own_call_alone(tmp_path: Path) -> None:
    async with model_and_setup(tmp_path) as (model, setup), http_server(setup) as server:
        model.release("all")
        alice = Victim(server)
        await alice.begin_stateless()
        await assert_refused_for_another_call(alice)
        first, again = await alice.end_stateless(), await alice.end_stateless()
        assert content(first) == "<alice-1> is done."
        assert content(again) in (
            "<alice-1> is done.",
            "The question is no longer open. Continue the thread with codex-reply.",
        )
        assert len([seen for seen in model.requests if seen.scene == "work"]) == 2, "nothing ran twice"


async def assert_refused_for_another_call(alice: Victim) -> None:
    responses = {"approval-1": ACCEPT}
    for tool, arguments in (("codex", {"prompt": "something else"}), ("codex_wait", {})):
        message = call(SAME_ID, tool, arguments, requestState=alice.state, inputResponses=responses)
        assert (await alice.stateless.once(message))["error"]["code"] == -32602


async def test_who_has_no_token_or_a_wrong_one_gets_no_further_than_the_door(tmp_path: Path) -> None:
    async with model_and_setup(tmp_path) as (_, setup), http_server(setup) as server:
        for path in ("/mcp", "/", "/metrics", "/readyz", "/nowhere"):
            nobody = await Door(server.port, path).ask("POST", request(1, "ping"))
            wrong = await Door(server.port, path, authorization="Bearer the-token-of-mallory").ask("GET")
            assert (nobody.status, wrong.status) == (401, 401)
            assert nobody.headers["www-authenticate"] == "Bearer"
        assert (await Door(server.port, "/healthz").ask("GET")).status == 200
