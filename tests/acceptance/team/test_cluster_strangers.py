"""Who is not of a cluster, or is another principal, gets nothing of its agents."""

import asyncio
import contextlib
import json
from pathlib import Path

import asyncpg
import msgspec
import pytest

from codex_mcp.access.cluster import HOP, key_of, proof
from codex_mcp.transports.websockets.dialled import DialledSocket, HandshakeRefused, dial
from codex_mcp.transports.websockets.socket import MAX_MESSAGE_BYTES
from tests.support.http.http_server import ChildServer
from tests.support.http.mcp_client import Door
from tests.support.patience import PATIENCE
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.cluster import SECRET, cluster, free_port, member
from tests.support.team.neighbours import Client, client_of
from tests.support.team.team_server import refusal, say, structured

KEY = key_of(SECRET.encode())


async def _challenged(server: ChildServer, **headers: str) -> str:
    with pytest.raises(HandshakeRefused) as refused:
        await dial(f"ws://127.0.0.1:{server.port}/control", headers, 10.0)
    assert refused.value.status == 401
    return refused.value.body.decode()


async def _nodes(dsn: str) -> dict[int, str]:
    connection = await asyncpg.connect(dsn)
    try:
        return {row["pid"]: row["id"] for row in await connection.fetch("SELECT id, pid FROM node")}
    finally:
        await connection.close()


async def _run(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def test_only_a_new_proof_for_this_server_admits(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (servers, _, dsn):
        for server in servers:
            await (await client_of(server, "stateless")).run("codex_status", {})
        nodes = await _nodes(dsn)
        us, other = (nodes[server.process.pid] for server in servers)
        url = f"ws://127.0.0.1:{servers[0].port}/control"
        challenge = await _challenged(servers[0])
        await _challenged(servers[0], **{HOP: "nothing"})
        await _challenged(servers[0], **{HOP: proof(key_of(b"x" * 32), challenge, other, us)})
        await _challenged(servers[0], **{HOP: proof(KEY, challenge, us, other)})
        shown = proof(KEY, challenge, other, us)
        channel = await dial(url, {HOP: shown}, 10.0)
        await _challenged(servers[0], **{HOP: shown})
        await _challenged(servers[1], **{HOP: proof(KEY, await _challenged(servers[0]), us, other)})
        # It is that node's connection, and no other's.
        hello = {"protocol": 1, "program": "x", "version": "1", "person": "", "node": "another"}
        channel.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "control/hello", "params": hello}).encode())
        (answer,) = await channel.receive()
        assert f"this connection is that of node {other}" in json.loads(answer)["error"]["message"]
        await channel.aclose()
        assert "did not prove" in servers[0].log


async def _greeted(server: ChildServer, to: str, of: str) -> DialledSocket:
    """A connection that has proved that it is of the cluster, as this node, and has said hello."""
    shown = proof(KEY, await _challenged(server), of, to)
    channel = await dial(f"ws://127.0.0.1:{server.port}/control", {HOP: shown}, 10.0)
    hello = {"protocol": 1, "program": "x", "version": "1", "person": "", "node": of}
    assert "result" in await _asked(channel, "control/hello", hello)
    return channel


async def _asked(channel: DialledSocket, method: str, params: Json) -> Json:
    channel.send(msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    async with asyncio.timeout(PATIENCE):
        (answer,) = await channel.receive()
    found: Json = msgspec.json.decode(answer)
    return found


CALLS: dict[str, Json] = {
    "control/follow": {"topics": ["agents", "questions"]},
    "control/question": {"id": "x"},
    "control/answer": {"id": "x", "decision": "approved"},
    "control/attach": {"agent": "x"},
    "control/deliver": {"agent": "x"},
    "control/sign-in": {},
    "control/steps": {"agent": "x"},
    "tools/list": {},
    "tools/call": {"name": "codex_threads", "arguments": {}},
    "resources/list": {},
    "resources/read": {"uri": "codex://threads/x/answer"},
    "tasks/get": {"taskId": "x"},
    "initialize": {},
    "newConversation": {},
}
"""What people's programs ask over the control socket of their machine, and what clients ask."""


async def test_a_server_of_another_machine_only_has_calls_answered(tmp_path: Path) -> None:
    async with cluster(tmp_path, 1) as (servers, _, dsn):
        client = await client_of(servers[0], "stateless")
        await client.run("codex", {"prompt": say("one"), "identity": "arch"})
        (node,) = (await _nodes(dsn)).values()
        channel = await _greeted(servers[0], node, "far")
        for method, params in CALLS.items():
            answer = await _asked(channel, method, params)
            assert "only has calls answered" in answer["error"]["message"], method
        meta = {"codex-mcp/acts-for": {"principal": "local"}}
        origin = {"session": 1, "log_id": "x", "caller": "x"}
        forwarded: Json = {"_meta": meta, "origin": origin, "id": 1, "params": {}}
        for method in ("tools/list", "resources/list", "control/follow", "control/forward", "initialize"):
            answer = await _asked(channel, "control/forward", forwarded | {"method": method})
            assert "is not forwarded" in answer["error"]["message"], method
        assert "result" in await _asked(channel, "ping", {})
        # It answers for its clients, and audits no person.
        assert [each for each in _audit(tmp_path) if each["event"] == "control"] == []
        await channel.aclose()


def _audit(folder: Path) -> list[Json]:
    (file,) = folder.glob("server-0/**/audit.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


async def test_floods_and_endless_messages_end_their_connection_and_nothing_else(tmp_path: Path) -> None:
    async with cluster(tmp_path, 1) as (servers, _, dsn):
        client = await client_of(servers[0], "stateless")
        await client.run("codex", {"prompt": say("one"), "identity": "arch"})
        (node,) = (await _nodes(dsn)).values()
        # Strangers: no proof, many times, and never the same challenge.
        challenges = [await _challenged(servers[0], **{HOP: "x" * 4096}) for _ in range(100)]
        assert len(set(challenges)) == 100
        # A server of the cluster that says too much at once, or asks too much, or never says hello.
        channel = await _greeted(servers[0], node, "far")
        with contextlib.suppress(ConnectionError):
            channel.send(b"[" + b" " * (MAX_MESSAGE_BYTES + 1))
        async with asyncio.timeout(PATIENCE):
            await channel.until_lost()
        await channel.aclose()
        channel = await _greeted(servers[0], node, "far")
        for number in range(5000):
            ask = {"jsonrpc": "2.0", "id": number, "method": "control/whose", "params": {"thread": "x" * 1000}}
            channel.send(msgspec.json.encode(ask))
        answered = 0
        async with asyncio.timeout(PATIENCE):
            while answered < 5000 and (answers := await channel.receive()):
                answered += len(answers)
        await channel.aclose()
        assert structured(await client.run("codex-reply", {"id": "arch", "prompt": say("two")}))["content"] == "two"


async def test_the_address_of_one_server_in_the_place_of_another_leads_nowhere(tmp_path: Path) -> None:
    async with cluster(tmp_path, 3) as (servers, _, dsn):
        one, two, three = [await client_of(server, "stateless") for server in servers]
        await one.run("codex", {"prompt": say("one"), "identity": "arch"})
        for each in (two, three):
            await each.run("codex_status", {})
        wrong = (await _nodes(dsn))[servers[2].process.pid]
        await _run(dsn, f"UPDATE node SET address = (SELECT address FROM node WHERE id = '{wrong}')")
        told = refusal(await two.run("codex-reply", {"id": "arch", "prompt": say("two")}))
        assert f"process {servers[0].process.pid}" in told
        assert "did not prove" in servers[2].log


async def test_an_address_that_somebody_wrote_into_the_database_leads_nowhere(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (servers, _, dsn):
        one, two = [await client_of(server, "stateless") for server in servers]
        await one.run("codex", {"prompt": say("one"), "identity": "arch"})
        await _run(dsn, f"UPDATE node SET address = 'http://127.0.0.1:{free_port()}'")
        told = refusal(await two.run("codex-reply", {"id": "arch", "prompt": say("two")}))
        assert f"process {servers[0].process.pid}" in told


async def test_a_server_with_another_secret_is_refused_at_its_start(tmp_path: Path) -> None:
    async with cluster(tmp_path, 1) as (servers, model, dsn):
        await (await client_of(servers[0], "stateless")).run("codex_status", {})
        stranger = member(tmp_path / "stranger", model.codex_overrides(), dsn, secret="y" * 64)
        with contextlib.suppress(AssertionError):
            await stranger.__aenter__()
        assert await stranger.exit_code() == 2
        assert "another cluster secret" in stranger.stderr
        assert "yyyy" not in stranger.stderr


TOKENS = {"alice": "the-token-of-alice-0123456789", "bob": "the-token-of-bob-012345678901"}


@requirement("FR-3.1")
async def test_agents_of_another_principal_do_not_exist_on_any_server(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    async with cluster(tmp_path, 2, flags=("--tokens", str(tokens))) as (servers, _, _):
        alice, away, bob = [
            Client(Door(server.port, authorization=f"Bearer {TOKENS[who]}"), is_stateless=True)
            for server, who in ((servers[0], "alice"), (servers[1], "alice"), (servers[1], "bob"))
        ]
        agent = structured(await alice.run("codex", {"prompt": say("one"), "identity": "arch", "request_id": "r"}))
        assert structured(await away.run("codex-reply", {"id": "arch", "prompt": say("two")}))["content"] == "two"
        for tool, arguments in (
            ("codex-reply", {"id": "arch", "prompt": "x"}),
            ("codex-reply", {"threadId": agent["threadId"], "prompt": "x"}),
            ("codex_close", {"id": agent["codex_id"]}),
            ("codex_diff", {"id": agent["codex_id"]}),
            ("codex", {"fork_from": "arch", "prompt": "x"}),
        ):
            assert (await bob.run(tool, arguments))["isError"], tool
        read = await bob.ask("resources/read", uri=f"codex://threads/{agent['threadId']}/answer")
        assert "error" in read
        assert structured(await bob.run("codex_threads", {}))["threads"] == []
        assert structured(await bob.run("codex_wait", {"timeout-seconds": 0}))["running"] == []
        own = structured(await bob.run("codex", {"prompt": say("mine"), "identity": "mine", "request_id": "r"}))
        assert own["codex_id"] != agent["codex_id"]
