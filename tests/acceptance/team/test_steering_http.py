"""Steering, interrupting, copying and reviewing over HTTP: with a handshake, without one, and for two principals."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import Door, call, shake_hands, stateless
from tests.support.servers.mcp_server import Json, Setup
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import say, structured

TOKENS = {"alice": "the-token-of-alice-0123456789", "bob": "the-token-of-bob-012345678901"}


class Caller:
    """A client of one principal."""

    def __init__(self, door: Door, *, has_session: bool) -> None:
        self._door = door
        self._has_session = has_session
        self._ids = 0

    async def run(self, tool: str, **arguments: Any) -> Json:
        """The result of a call."""
        self._ids += 1
        message = call(self._ids, tool, arguments)
        sent, headers = (message, {}) if self._has_session else stateless(message)
        answer = await self._door.post(sent, **headers)
        result: Json = answer["result"]
        return result

    async def told(self, tool: str, **arguments: Any) -> tuple[str, str]:
        """Status and content of a result."""
        content = structured(await self.run(tool, **arguments))
        return content["status"], content["content"]


class Scene:
    def __init__(self, port: int, model: ScriptedModel) -> None:
        self._port = port
        self.model = model

    async def caller(self, who: str = "alice", era: str = "stateless") -> Caller:
        """A client of this principal."""
        token = f"Bearer {TOKENS[who]}"
        if era == "stateless":
            return Caller(Door(self._port, authorization=token), has_session=False)
        return Caller(await shake_hands(self._port, authorization=token), has_session=True)


@contextlib.asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    tokens.chmod(0o600)
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        setup = Setup(folder, model.codex_overrides(), ["--tokens", str(tokens), "--events", "none"], {}, "serve")
        async with http_server(setup) as server:
            yield Scene(server.port, model)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_an_agent_is_steered_and_interrupted(tmp_path: Path, era: str) -> None:
    async with scene(tmp_path) as at:
        alice = await at.caller(era=era)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(alice.told("codex", prompt=gate(), identity="arch"))
            await at.model.wait_for_gate("gate")
            second = group.create_task(alice.told("codex-reply", identity="arch", prompt=say("left"), when="steer"))
        assert first.result() == second.result() == ("completed", "left")
        begun = await alice.told("codex-reply", identity="arch", prompt=gate(), background=True)
        assert begun[0] == "running"
        await at.model.wait_for_gate("gate")
        urgent = await alice.told("codex-reply", identity="arch", prompt=say("now"), when="interrupt")
        assert urgent == ("completed", "now")
        waited = structured(await alice.run("codex_wait", **{"ids": ["arch"], "timeout-seconds": 0}))
        assert [turn["status"] for turn in waited["finished"]] == ["interrupted"]
        copy = await alice.told("codex", fork_from="arch", prompt=say("copied"))
        assert copy == ("completed", "copied")
        dropped = await alice.told("codex-reply", identity="arch", prompt=say("again"), rollback=1)
        assert dropped == ("completed", "again")
        assert (await alice.told("codex_interrupt", id="arch"))[0] == "idle"


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_nothing_of_it_works_on_an_agent_of_another_principal(tmp_path: Path, era: str) -> None:
    async with scene(tmp_path) as at:
        alice, bob = await at.caller(era=era), await at.caller("bob", era)
        agent = structured(await alice.run("codex", prompt=gate(), identity="arch", background=True))
        await at.model.wait_for_gate("gate")
        for name in ("codex_id", "identity", "threadId"):
            mine = {name: agent[name]}
            calls: list[tuple[str, Json]] = [
                ("codex-reply", {**mine, "prompt": say("mine"), "when": "steer"}),
                ("codex-reply", {**mine, "prompt": say("mine"), "when": "interrupt"}),
                ("codex-reply", {**mine, "prompt": say("mine"), "rollback": 1}),
                ("codex_interrupt", {"id": agent[name]}),
                ("codex", {"fork_from": agent[name], "prompt": say("mine")}),
                ("codex_review", {"id": agent[name]}),
            ]
            for tool, arguments in calls:
                refused = await bob.run(tool, **arguments)
                assert refused["_meta"]["codex-mcp/error"]["reason"] == "not_found", (tool, refused)
        at.model.release("gate")
        waited = structured(await alice.run("codex_wait", ids=["arch"]))
        assert [turn["content"] for turn in waited["finished"]] == ["The gate is open."]
