"""A team over HTTP: what belongs to one principal is not there for another, in either era."""

from pathlib import Path
from typing import Any

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import Door, call, stateless
from tests.support.servers.mcp_server import TOUR, Json, Setup
from tests.support.team.team_server import say, structured

TOKENS = {"alice": "the-token-of-alice-0123456789", "bob": "the-token-of-bob-012345678901"}


async def run(port: int, who: str, tool: str, **arguments: Any) -> Json:
    """One call of this principal, that stands for itself."""
    message, headers = stateless(call(1, tool, arguments))
    answer = await Door(port, authorization=f"Bearer {TOKENS[who]}").post(message, **headers)
    result: Json = answer["result"]
    return result


async def test_an_agent_is_there_for_its_own_principal_alone(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), ["--tokens", str(tokens), "--events", "none"], {}, "serve")
        async with http_server(setup) as server:
            started = structured(await run(server.port, "alice", "codex", prompt=say("hi"), identity="arch"))
            taken = await run(server.port, "bob", "codex", prompt=say("hi"), identity="arch")
            assert "another user" in taken["content"][0]["text"]
            assert started["codex_id"] not in str(taken)
            for name in ({"codex_id": started["codex_id"]}, {"identity": "arch"}, {"threadId": started["threadId"]}):
                for tool in ("codex-reply", "codex_close"):
                    prompt = {"prompt": say("mine?")} if tool == "codex-reply" else {}
                    refused = await run(server.port, "bob", tool, **name, **prompt)
                    assert refused["_meta"]["codex-mcp/error"]["reason"] == "not_found", refused
            assert structured(await run(server.port, "bob", "codex_threads"))["threads"] == []
            assert structured(await run(server.port, "bob", "codex_status"))["identities"] == {}
            again = await run(server.port, "alice", "codex-reply", identity="arch", prompt=say("still here"))
            assert structured(again)["content"] == "still here"
