"""The real Codex does what our answers to its questions say."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from codex_mcp.codex.reading import read_question
from codex_mcp.scripted_model.load import packaged_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.threads.questions.approvals import core_answer, decide, explanation
from codex_mcp.threads.questions.questions import Question, question_from
from codex_mcp.wire.app.questions import UnreadableQuestion
from tests.support.clients import mcp_tool_server
from tests.support.core.app_server import AppServer, Turn

ESCALATE = '[[scene: escalate cmd="touch made.txt"]]'
PATCH = "[[scene: patch]]"
ECHO = '[[scene: mcp namespace="mcp__inner" tool="echo"]]'
ASK = '[[scene: mcp namespace="mcp__inner" tool="ask"]]'
INNER_SERVER = (
    f"mcp_servers.inner.command={msgspec.json.encode(sys.executable).decode()}",
    f"mcp_servers.inner.args={msgspec.json.encode([mcp_tool_server.__file__]).decode()}",
)


@dataclass
class Conversation:
    """A thread that asks before it writes, and the model that it talks to."""

    model: ScriptedModel
    server: AppServer
    thread: str
    folder: Path

    async def turn(self, prompt: str, *answers: object) -> Turn:
        """Run a turn whose questions get these results of a client, one after the other."""
        turn = await self.server.start_turn(self.thread, prompt)
        for answer in answers:
            asked = await self.server.asked()
            question = question_from(read_question(asked.method, msgspec.Raw(msgspec.json.encode(asked.params))))
            assert not isinstance(question, UnreadableQuestion)
            await self.server.answer(asked, await self.result(question, answer))
        return await self.server.finish_turn(turn)

    async def result(self, question: Question, answer: object) -> dict[str, object]:
        decision = decide(question, answer)
        if (item := explanation(question, decision)) is not None:
            await self.server.request("thread/inject_items", {"threadId": self.thread, "items": [item]})
        return core_answer(question, decision)

    def last_told(self) -> list[object]:
        """What the model got with its last request, from the newest call on."""
        items = self.model.requests[-1].json["input"]
        assert isinstance(items, list)
        calls = [index for index, item in enumerate(items) if item["type"] in ("function_call", "custom_tool_call")]
        return [item.get("output") or item["content"][0]["text"] for item in items[calls[-1] + 1 :]]


@asynccontextmanager
async def conversation(tmp_path: Path, *overrides: str) -> AsyncIterator[Conversation]:
    folder = tmp_path / "work"
    folder.mkdir()
    model = ScriptedModel(packaged_script("tour"))
    async with model, AppServer(tmp_path / "home", [*model.codex_overrides(), *overrides]) as server:
        thread = await server.start_thread(cwd=str(folder), approvalPolicy="on-request", sandbox="read-only")
        yield Conversation(model, server, thread, folder)


async def test_a_standard_accept_runs_the_command(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        turn = await talk.turn(ESCALATE, {"action": "accept", "content": {}})
        assert turn.text == "It ran."
        assert (talk.folder / "made.txt").exists()


async def test_approved_for_the_session_is_not_asked_again(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        await talk.turn(ESCALATE, {"decision": "approved_for_session"})
        (talk.folder / "made.txt").unlink()
        assert (await talk.turn(ESCALATE)).text == "It ran."
        assert (talk.folder / "made.txt").exists()


async def test_an_approved_rule_is_saved_as_it_was_proposed(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        choice = {"decision": "approved_execpolicy_amendment"}
        await talk.turn(ESCALATE, {"action": "accept", "content": choice})
        assert (await talk.turn(ESCALATE)).text == "It ran."
    rules = list((tmp_path / "home" / ".codex" / "rules").iterdir())
    assert '["touch", "made.txt"]' in rules[0].read_text()


async def test_a_rule_that_was_not_proposed_runs_the_command_once_and_saves_nothing(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        wider = {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["touch"]}}
        assert (await talk.turn(ESCALATE, {"decision": wider})).text == "It ran."
        assert (await talk.turn(ESCALATE, {"decision": "denied"})).text == "It was refused."
    assert not (tmp_path / "home" / ".codex" / "rules").exists()


async def test_a_refused_command_does_not_run_and_the_model_is_told_why_in_the_same_turn(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        turn = await talk.turn(ESCALATE, {"decision": {"denied": {"rejection": "the disk is full"}}})
        assert turn.text == "It was refused."
        assert not (talk.folder / "made.txt").exists()
        output, why = talk.last_told()
        assert "rejected by user" in str(output)
        assert why == "The request to run the command was not approved. Reason given: the disk is full"
        assert [item["type"] for item in turn.items] == ["userMessage", "commandExecution", "agentMessage"]


async def test_a_refused_patch_changes_nothing_and_the_model_is_told_why(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        turn = await talk.turn(PATCH, {"action": "cancel"})
        assert turn.text == "The patch was refused."
        assert list(talk.folder.iterdir()) == []
        reason = "the user closed the question without an answer"
        assert talk.last_told() == [
            "patch rejected by user",
            f"The request to change the files was not approved. Reason given: {reason}",
        ]


async def test_an_accepted_patch_is_applied(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        assert (await talk.turn(PATCH, {"action": "accept"})).text == "The file is written."
        assert (talk.folder / "hello.txt").read_text() == "hello\n"


async def test_abort_ends_the_turn(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        assert (await talk.turn(ESCALATE, {"decision": "abort"})).status == "interrupted"
        assert not (talk.folder / "made.txt").exists()


async def test_a_tool_of_an_inner_server_runs_when_it_is_approved_and_then_again_for_the_session(
    tmp_path: Path,
) -> None:
    async with conversation(tmp_path, *INNER_SERVER) as talk:
        assert "echo: {}" in (await talk.turn(ECHO, {"decision": "approved_for_session"})).text
        assert "echo: {}" in (await talk.turn(ECHO)).text


async def test_a_refused_tool_of_an_inner_server_does_not_run(tmp_path: Path) -> None:
    async with conversation(tmp_path, *INNER_SERVER) as talk:
        assert "echo: {}" not in (await talk.turn(ECHO, {"action": "decline"})).text
        assert "user rejected MCP tool call" in str(talk.last_told())


async def test_what_the_user_fills_in_reaches_the_inner_server(tmp_path: Path) -> None:
    async with conversation(tmp_path, *INNER_SERVER) as talk:
        filled = {"action": "accept", "content": {"city": "Riga"}}
        turn = await talk.turn(ASK, {"action": "accept", "content": {}}, filled)
        assert '"content": {"city": "Riga"}' in turn.text


async def test_an_inner_server_learns_that_the_user_declined(tmp_path: Path) -> None:
    async with conversation(tmp_path, *INNER_SERVER) as talk:
        turn = await talk.turn(ASK, {"decision": "approved"}, {"action": "decline"})
        assert '"action": "decline"' in turn.text
