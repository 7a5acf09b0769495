"""The real Codex, fed by the scripted model: every kind of step does what its documentation says."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.load import packaged_script
from codex_mcp.scripted_model.script import Script, parse_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients import mcp_tool_server
from tests.support.core.app_server import AppServer, Turn
from tests.support.patience import PATIENCE

TOUR = packaged_script("tour")


@dataclass(frozen=True, slots=True)
class Stage:
    """A model, a Codex that listens to it, and a folder to work in."""

    model: ScriptedModel
    server: AppServer
    folder: Path

    async def thread(self, sandbox: str = "read-only", policy: str = "never", **params: object) -> str:
        return await self.server.start_thread(cwd=str(self.folder), sandbox=sandbox, approvalPolicy=policy, **params)

    async def play(self, prompt: str, sandbox: str = "read-only", policy: str = "never") -> Turn:
        return await self.server.run_turn(await self.thread(sandbox, policy), prompt)


@asynccontextmanager
async def stage(tmp_path: Path, *overrides: str, script: Script = TOUR, retries: int = 0) -> AsyncIterator[Stage]:
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    async with (
        ScriptedModel(script) as model,
        AppServer(tmp_path / "home", [*model.codex_overrides(retries=retries), *overrides]) as server,
    ):
        yield Stage(model, server, folder)


def quoted(text: str) -> str:
    """A text as TOML writes it."""
    return msgspec.json.encode(text).decode()


async def test_it_says_what_the_script_says_in_as_many_pieces(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        turn = await on.play('[[scene: say text="Good morning to you" deltas=4]]')
        deltas = [m["params"]["delta"] for m in on.server.messages if m["method"] == "item/agentMessage/delta"]
        usage = await on.server.wait_for("thread/tokenUsage/updated")
    assert (turn.status, turn.text, turn.error) == ("completed", "Good morning to you", None)
    assert len(deltas) == 4
    assert "".join(deltas) == "Good morning to you"
    assert usage["tokenUsage"]["total"]["totalTokens"] == 120


async def test_a_search_is_told_with_its_query(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        turn = await on.play('[[scene: search query="tides"]]')
    assert [(item["query"], item["action"]["type"]) for item in turn.items_of("webSearch")] == [("tides", "search")]
    assert turn.text == "I have searched."


async def test_it_thinks_aloud(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        turn = await on.play('[[scene: think thought="**Looking**"]]')
        await on.server.wait_for("item/reasoning/summaryTextDelta")
    [thought] = turn.items_of("reasoning")
    assert thought["summary"] == ["**Looking**"]


@pytest.mark.parametrize(
    ("sandbox", "written"), [("read-only", False), ("workspace-write", True), ("danger-full-access", True)]
)
async def test_it_runs_a_command_in_the_sandbox_of_the_thread(tmp_path: Path, sandbox: str, *, written: bool) -> None:
    async with stage(tmp_path) as on:
        turn = await on.play('[[scene: run cmd="touch written; echo code $?"]]', sandbox)
        [command] = turn.items_of("commandExecution")
        assert ("code 0" in command["aggregatedOutput"]) == written
        assert command["aggregatedOutput"] in turn.text
        assert (on.folder / "written").exists() == written


async def test_the_model_is_told_that_the_sandbox_denied_its_command(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        turn = await on.play('[[scene: run cmd="touch written"]]')
    # Whether there is an item for it as well depends on how fast Codex was.
    assert "Read-only file system" in turn.text


@pytest.mark.parametrize(
    ("decision", "says", "written"), [("accept", "It ran.", True), ("decline", "It was refused.", False)]
)
async def test_it_asks_to_leave_the_sandbox_and_reacts_to_the_answer(
    tmp_path: Path, decision: str, says: str, *, written: bool
) -> None:
    async with stage(tmp_path) as on:
        turn = await on.server.start_turn(await on.thread(policy="on-request"), "[[scene: escalate]]")
        asked = await on.server.asked()
        assert asked.method == "item/commandExecution/requestApproval"
        assert asked.params["reason"] == "It has to write a file."
        await on.server.answer(asked, {"decision": decision})
        assert (await on.server.finish_turn(turn)).text == says
        assert (on.folder / "escalated").exists() == written


async def test_it_runs_two_commands_at_once(tmp_path: Path) -> None:
    # Each waits for the other, so neither could finish alone.
    meet = "touch {me}; until [ -e {other} ]; do sleep 0.01; done; echo {me} met {other}"
    first, second = meet.format(me="a", other="b"), meet.format(me="b", other="a")
    async with stage(tmp_path) as on:
        turn = await on.play(f'[[scene: parallel first="{first}" second="{second}"]]', "workspace-write")
    assert len(turn.items_of("commandExecution")) == 2
    assert "a met b" in turn.text
    assert "b met a" in turn.text


@pytest.mark.parametrize("model", ["gpt-5.5", "some-unknown-model"])
async def test_it_patches_files_with_the_tool_that_the_model_has(tmp_path: Path, model: str) -> None:
    async with stage(tmp_path, f'model="{model}"') as on:
        turn = await on.play("[[scene: patch file=new.txt line=hello]]", "workspace-write")
        assert (on.folder / "new.txt").read_text() == "hello\n"
    assert turn.text == "The file is written."
    [change] = turn.items_of("fileChange")
    assert change["status"] == "completed"


async def test_it_reacts_to_a_refused_patch(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        turn = await on.server.start_turn(await on.thread(policy="on-request"), "[[scene: patch]]")
        asked = await on.server.asked()
        assert asked.method == "item/fileChange/requestApproval"
        await on.server.answer(asked, {"decision": "decline"})
        assert (await on.server.finish_turn(turn)).text == "The patch was refused."


async def test_it_makes_a_plan(tmp_path: Path) -> None:
    async with stage(tmp_path, "tools.update_plan.enabled=true") as on:
        turn = await on.play("[[scene: plan]]")
        plan = (await on.server.wait_for("turn/plan/updated"))["plan"]
    assert turn.text == "That is the plan."
    assert [(item["step"], item["status"]) for item in plan] == [
        ("Look", "inProgress"),
        ("Change", "pending"),
        ("Test", "pending"),
    ]


async def test_it_calls_a_tool_of_the_client(tmp_path: Path) -> None:
    tool = {"name": "weigh", "description": "Weighs", "inputSchema": {"type": "object", "properties": {}}}
    async with stage(tmp_path) as on:
        thread = await on.thread(dynamicTools=[tool])
        turn = await on.server.start_turn(thread, '[[scene: call tool=weigh arguments="{\\"a\\": 1}"]]')
        asked = await on.server.asked()
        assert (asked.method, asked.params["tool"], asked.params["arguments"]) == ("item/tool/call", "weigh", {"a": 1})
        await on.server.answer(asked, {"contentItems": [{"type": "inputText", "text": "3 kg"}], "success": True})
        assert (await on.server.finish_turn(turn)).text == "The tool answered:\n3 kg"


async def test_it_calls_a_tool_of_an_mcp_server_by_its_namespace(tmp_path: Path) -> None:
    command = f"mcp_servers.inner={{command={quoted(sys.executable)}, args=[{quoted(mcp_tool_server.__file__)}]}}"
    async with stage(tmp_path, command) as on:
        prompt = '[[scene: mcp namespace=mcp__inner tool=echo arguments="{\\"text\\": \\"hi\\"}"]]'
        turn = await on.play(prompt, "danger-full-access")
    assert "echo: {'text': 'hi'}" in turn.text
    [call] = turn.items_of("mcpToolCall")
    assert (call["server"], call["tool"], call["status"]) == ("inner", "echo", "completed")


async def test_it_talks_to_a_command_that_waits_for_input(tmp_path: Path) -> None:
    script = parse_script(
        """
        [scenes.x]
        steps = [
            { run = "read -r name; echo Hello $name", tty = true, yield_time_ms = 250 },
            { call = "write_stdin", if_output = 'session ID (?P<id>\\d+)', arguments = '''
                {"session_id": {id}, "chars": "you\\n", "yield_time_ms": 5000}''' },
            { say = "It said: {output}" },
        ]
        """,
        "dialogue",
    )
    async with stage(tmp_path, script=script) as on:
        assert "Hello you" in (await on.play("go")).text


PRICES = "def total(prices):\n    return sum(prices[1:])\n"
TEST_PRICES = """import unittest

from prices import total


class Total(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([3, 4]), 7)
"""


@pytest.mark.parametrize(("decision", "fixed"), [("accept", True), ("decline", False)])
async def test_it_repairs_a_program_if_it_may(tmp_path: Path, decision: str, *, fixed: bool) -> None:
    async with stage(tmp_path, script=packaged_script("repair")) as on:
        (on.folder / "prices.py").write_text(PRICES)
        (on.folder / "test_prices.py").write_text(TEST_PRICES)
        turn = await on.server.start_turn(await on.thread(policy="on-request"), "The test fails. Please repair it.")
        asked = await on.server.asked()
        assert asked.method == "item/fileChange/requestApproval"
        await on.server.answer(asked, {"decision": decision})
        done = await on.server.finish_turn(turn)
        assert ("sum(prices)" in (on.folder / "prices.py").read_text()) == fixed
    codes = [item["exitCode"] for item in done.items_of("commandExecution") if "unittest" in item["command"]]
    assert codes == ([1, 0] if fixed else [1])
    assert ("the test passes" in done.text) == fixed


FAILURES: list[tuple[str, object, str]] = [
    ("fail status=500", "internalServerError", "high demand"),
    ("fail status=401", {"httpConnectionFailed": {"httpStatusCode": 401}}, "the script says so"),
    ("fail status=429", {"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "429 Too Many Requests"),
    ("fail status=400", "other", "the script says so"),
    ("error code=context_length_exceeded", "contextWindowExceeded", "ran out of room"),
    ("error code=rate_limit_exceeded", "rateLimitExceeded", "the script says so"),
    ("error", "other", "the script says so"),
    ("disconnect", "other", "stream disconnected before completion"),
    ("nope", "other", "cannot play [[scene: nope]]: no such scene in "),
]


async def test_it_fails_in_every_way_and_the_next_turn_works(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        for scene, info, message in FAILURES:
            thread = await on.thread()
            turn = await on.server.run_turn(thread, f"[[scene: {scene}]]")
            assert (turn.status, turn.error and turn.error["codexErrorInfo"]) == ("failed", info), scene
            assert turn.error is not None
            assert message in turn.error["message"]
            assert (await on.server.run_turn(thread, "hi")).text == "Hello! You said: hi"


@pytest.mark.parametrize("scene", ["fail", "disconnect"])
async def test_a_failure_that_happens_once_is_over_when_codex_tries_again(tmp_path: Path, scene: str) -> None:
    async with stage(tmp_path, retries=1) as on:
        thread = await on.thread()
        for _ in range(2):
            turn = await on.server.run_turn(thread, f"[[scene: {scene} times=1]]")
            assert (turn.status, turn.text) == ("completed", "It worked in the end.")
        assert len(on.model.requests) == 4


async def test_a_turn_is_held_at_a_gate_and_released(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        threads = [await on.thread() for _ in range(3)]
        turns = [await on.server.start_turn(thread, "[[scene: gate]]") for thread in threads]
        await asyncio.wait_for(on.model.wait_for_gate("gate", 3), PATIENCE)
        assert not [message for message in on.server.messages if message["method"] == "turn/completed"]
        on.model.release("gate")
        assert [(await on.server.finish_turn(turn)).text for turn in turns] == ["The gate is open."] * 3


@pytest.mark.parametrize("scene", ["gate", "endless", "silence"])
async def test_an_interrupted_turn_hangs_up_and_the_thread_goes_on(tmp_path: Path, scene: str) -> None:
    async with stage(tmp_path) as on:
        thread = await on.thread()
        turn = await on.server.start_turn(thread, f"[[scene: {scene}]]")
        await asyncio.wait_for(on.model.wait_for_scene(scene), PATIENCE)
        await on.server.request("turn/interrupt", {"threadId": thread, "turnId": turn})
        assert (await on.server.finish_turn(turn)).status == "interrupted"
        assert (await on.server.run_turn(thread, "still there?")).text == "Hello! You said: still there?"


async def test_a_message_into_a_running_turn_chooses_its_own_scene(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        thread = await on.thread()
        turn = await on.server.start_turn(thread, "[[scene: gate]]")
        await asyncio.wait_for(on.model.wait_for_gate("gate"), PATIENCE)
        words = [{"type": "text", "text": "Hurry up"}]
        await on.server.request("turn/steer", {"threadId": thread, "expectedTurnId": turn, "input": words})
        on.model.release("gate")
        assert (await on.server.finish_turn(turn)).text == "Hello! You said: Hurry up"


async def test_a_thread_is_compacted_with_the_summary_that_the_script_gives(tmp_path: Path) -> None:
    script = parse_script(
        """
        [scenes.talk]
        steps = [{ say = "This is message {nth}." }]

        [scenes.summary]
        when = "CONTEXT CHECKPOINT COMPACTION"
        steps = [{ say = "We only said hello." }]
        """,
        "compaction",
    )
    async with stage(tmp_path, script=script) as on:
        thread = await on.thread()
        await on.server.run_turn(thread, "Hello")
        await on.server.request("thread/compact/start", {"threadId": thread})
        begun = await on.server.wait_for("item/started", lambda params: params["item"]["type"] == "contextCompaction")
        await on.server.finish_turn(begun["turnId"])
        assert (await on.server.run_turn(thread, "And now?")).text == "This is message 2."
        assert [seen.scene for seen in on.model.requests] == ["talk", "summary", "talk"]
        assert b"We only said hello." in on.model.requests[-1].body


async def test_a_resumed_thread_brings_its_history_to_a_model_that_never_saw_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        thread = await on.thread()
        await on.server.run_turn(thread, "[[scene: run]]")
    second = parse_script('[scenes.x]\nsteps = [{ say = "This is message {nth}." }]', "second")
    async with stage(tmp_path, script=second) as on:
        await on.server.request("thread/resume", {"threadId": thread, "excludeTurns": True})
        assert (await on.server.run_turn(thread, "And now?")).text == "This is message 2."
        [seen] = on.model.requests
        assert seen.thread == thread
        assert b"The command answered" in seen.body


async def test_five_thousand_pieces_arrive(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        turn = await on.play('[[scene: stream piece="ab " count=5000]]')
        deltas = sum(message["method"] == "item/agentMessage/delta" for message in on.server.messages)
    assert turn.text == "ab " * 5000
    assert deltas == 5000
