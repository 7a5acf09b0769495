"""Sessions over HTTP: what one principal has does not exist for another, in both eras."""

from pathlib import Path

import msgspec
import pytest

from tests.support.http.http_server import ChildServer, scripted_http_server
from tests.support.http.mcp_client import BOTH, Door, Json, call, shake_hands, stateless

TOKENS = {"ada": "the-token-of-ada-is-long-enough", "bob": "the-token-of-bob-is-long-enough"}


class Visitor:
    """A client of one principal, in one era."""

    def __init__(self, server: ChildServer, name: str, *, is_stateless: bool) -> None:
        self._door = Door(server.port, accept=BOTH, authorization=f"Bearer {TOKENS[name]}")
        self._is_stateless = is_stateless
        self._number = 0

    async def run(self, tool: str, **arguments: object) -> Json:
        """Call a tool, and read its result."""
        self._number += 1
        message = call(self._number, tool, arguments)
        headers: dict[str, str] = {}
        if self._is_stateless:
            message, headers = stateless(message)
        answer = await self._door.ask("POST", message, **headers)
        lines = [line.removeprefix("data: ") for line in answer.body.decode().splitlines() if "{" in line]
        (result,) = (each["result"] for each in map(msgspec.json.decode, lines) if each.get("id") == self._number)
        assert isinstance(result, dict)
        return result

    async def shake_hands(self, server: ChildServer) -> None:
        """Open a session, if the era has them."""
        if not self._is_stateless:
            token = self._door.headers["authorization"]
            self._door = await shake_hands(server.port, authorization=token)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_principals_never_see_each_others_sessions(tmp_path: Path, era: str) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    flags = ("--tools", "sessions", "--tokens", str(tokens), "--max-named-sessions", "2")
    async with scripted_http_server(tmp_path, *flags) as (server, model):
        ada, bob = (Visitor(server, name, is_stateless=era == "stateless") for name in TOKENS)
        for visitor in (ada, bob):
            await visitor.shake_hands(server)
        hers = (await ada.run("codex", prompt="zebra", sessionId="review"))["structuredContent"]
        his = (await bob.run("codex", prompt="hi", sessionId="review"))["structuredContent"]
        assert hers["threadId"] != his["threadId"]
        assert his["session"]["resumed"] == "new"
        assert "zebra" not in str(model.requests[-1].json["input"])
        for name in ("one", "two"):  # his sessions do not push hers out
            await bob.run("codex", prompt="hi", sessionId=name)
        listed = (await ada.run("listSessions"))["structuredContent"]["sessions"]
        assert [(each["id"], each["conversationId"]) for each in listed] == [("review", hers["threadId"])]
        listed = (await bob.run("listSessions"))["structuredContent"]["sessions"]
        assert [each["id"] for each in listed] == ["two", "one"]
        again = (await ada.run("codex", prompt="again", sessionId="review"))["structuredContent"]
        assert (again["session"]["turns"], again["threadId"]) == (2, hers["threadId"])
        # nor by the id of a thread
        assert (await bob.run("codex-reply", prompt="hi", threadId=hers["threadId"]))["isError"] is True
        assert (await bob.run("ping"))["content"][0]["text"] == "pong"
        assert (await bob.run("websearch", query="x"))["structuredContent"]["status"] == "completed"
