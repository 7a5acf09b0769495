"""Worktrees and diffs over HTTP: for the principal of the agent alone."""

from pathlib import Path
from typing import Any

import msgspec

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import Door, call, stateless
from tests.support.repositories import branches, repository
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import refusal, structured

TOKENS = {"alice": "the-token-of-alice-0123456789", "bob": "the-token-of-bob-012345678901"}
COMMANDS = "echo new >new.txt; git add .; git commit -qm made-by-agent; echo left >left.txt"


async def run(port: int, who: str, tool: str, **arguments: Any) -> Json:
    """One call of this principal, that stands for itself."""
    message, headers = stateless(call(1, tool, arguments))
    answer = await Door(port, authorization=f"Bearer {TOKENS[who]}").ask("POST", message, **headers)
    # A call that takes long is answered on a stream, as its last event.
    result: Json = msgspec.json.decode(answer.body.rpartition(b"data: ")[2] or answer.body)["result"]
    return result


async def test_an_agent_in_a_worktree_is_started_looked_at_and_closed(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    checkout = repository(tmp_path / "repo")
    agent = {"identity": "arch", "worktree": True, "sandbox": "workspace-write", "approval-policy": "never"}
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), ["--tokens", str(tokens), "--events", "none"], {}, "serve")
        async with http_server(setup) as server:
            plain = await run(server.port, "alice", "codex", prompt="hi", cwd=str(tmp_path), **agent)
            assert "it is not in a git repository" in refusal(plain)
            prompt = f'[[scene: run cmd="{COMMANDS}"]]'
            done = structured(await run(server.port, "alice", "codex", prompt=prompt, cwd=str(checkout), **agent))
            assert (done["worktree"]["branch"], done["worktree"]["commits"]) == ("codex/arch", 1)
            shown = await run(server.port, "alice", "codex_diff", id="arch", of="thread")
            assert {"+new", "+left"} <= set(shown["content"][0]["text"].splitlines())
            foreign = await run(server.port, "bob", "codex_diff", id=done["codex_id"])
            assert foreign["_meta"]["codex-mcp/error"]["reason"] == "not_found"
            closed = structured(await run(server.port, "alice", "codex_close", identity="arch"))
            assert closed["worktree"]["kept_because"] == "1 file with uncommitted changes"
    assert branches(checkout) == ["codex/arch", "main"]
