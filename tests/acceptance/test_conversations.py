"""The conversation methods over stdio: queues, questions without a listener, one-off commands, a Codex that dies."""

import os
from pathlib import Path

import pytest

from codex_mcp.base.processes.offspring import parent
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.recordings.exchange import BY_NOBODY, SCENES, scene, serve
from tests.support.processes import Process, processes_at, the_core, the_server
from tests.support.servers.conversations import ask, asked, ended, items, listen, new, refusal, say, turn
from tests.support.servers.doorbell import doorbell
from tests.support.servers.mcp_server import McpServer, Setup

NOT_APPROVED = "The request to run the command was not approved. Reason given: "

FULL = {"mode": "danger-full-access"}


async def test_messages_during_a_turn_wait_for_it_and_too_many_are_refused(tmp_path: Path) -> None:
    async with serve(tmp_path, "--max-turns-waiting", "2") as (server, model):
        conversation = await new(server)
        await listen(server, conversation)
        await say(server, conversation, '[[scene: gate name="first" text="first"]]')
        await model.wait_for_gate("first")
        await say(server, conversation, scene("say", text="second"))
        await say(server, conversation, scene("say", text="third"))
        code, text = await refusal(server, "sendUserMessage", conversationId=conversation, items=items("fourth"))
        assert code == -32600
        assert "2 more messages wait already" in text
        model.release("first")
        answers = [(await ended(server, conversation, number))["last_agent_message"] for number in range(3)]
        assert answers == ["first", "second", "third"]


def reasons(model_input: object) -> list[str]:
    """What the model was told about denials."""
    assert isinstance(model_input, list)
    texts = [item["content"][0]["text"] for item in model_input if item["type"] == "message"]
    return [text.removeprefix(NOT_APPROVED).removesuffix(BY_NOBODY) for text in texts if text.startswith(NOT_APPROVED)]


async def test_a_question_without_a_listener_waits_for_one(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        conversation = await new(server)
        await say(server, conversation, scene("escalate"))
        await server.until(lambda: "asked: exec" in server.log)
        assert [message for message in server.messages if message.get("method") == "execCommandApproval"] == []
        await listen(server, conversation)
        assert (await asked(server, "execCommandApproval", 0))["reason"] == "It has to make a file."
        server.send({"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "not today"}})
        await ended(server, conversation, 0)
        assert reasons(model.requests[-1].json["input"]) == ["the MCP client could not ask the user: not today"]
        assert not (server.setup.work / "made.txt").exists()


@pytest.mark.parametrize("listeners", [0, 1])
async def test_a_question_that_is_not_answered_in_time_is_denied_with_the_reason(
    tmp_path: Path, listeners: int
) -> None:
    async with serve(tmp_path, "--approval-timeout", "0.2") as (server, model):
        conversation = await new(server)
        for _ in range(listeners):
            await listen(server, conversation)
        await say(server, conversation, scene("escalate"))
        await server.until(lambda: len(model.requests) == 2)
        (why,) = reasons(model.requests[-1].json["input"])
        nobody = "no one could be asked: the conversation had no listener within 0.2 seconds"
        assert why == ("no one answered within 0.2 seconds" if listeners else nobody)
        if listeners:
            withdrawn = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
            assert withdrawn["params"]["requestId"] == 0


async def test_an_interrupt_withdraws_the_question(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        conversation = await new(server)
        await listen(server, conversation)
        await say(server, conversation, scene("escalate"))
        await asked(server, "execCommandApproval", 0)
        assert await ask(server, "interruptConversation", conversationId=conversation) == {"abortReason": "interrupted"}
        withdrawn = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        assert withdrawn["params"]["requestId"] == 0
        assert not (server.setup.work / "made.txt").exists()


DETACHED = "(setsid sh -c ': leaves something; echo > bell; sleep 600' &); : leaves something; sleep 600"
"""A command that leaves a process in a session of its own, whose parent has ended."""


def left(server: McpServer) -> list[Process]:
    """What still runs of the command."""
    return [each for each in processes_at(server.setup.home) if any("leaves something" in word for word in each.argv)]


@pytest.mark.parametrize("policy", [FULL, {"mode": "workspace-write"}])
async def test_a_timeout_ends_processes_that_have_left_the_command(tmp_path: Path, policy: dict[str, str]) -> None:
    async with serve(tmp_path) as (server, _model):
        await ask(server, "getAuthStatus")
        core = the_core(server.setup.home)
        async with doorbell(server.setup.work / "bell") as rung:
            command = {"command": ["sh", "-c", DETACHED], "timeoutMs": 4000, "sandboxPolicy": policy}
            request = server.request("execOneOffCommand", command)
            await rung.wait()
        assert len(left(server)) >= 2
        answer = await server.answer(request)
        assert answer["error"]["message"] == "exec failed: sandbox error: command timed out"
        assert left(server) == []
        assert the_core(server.setup.home).pid == core.pid
        assert not (server.setup.work / ".git").exists()


def zombies_of(server: McpServer) -> list[str]:
    """Children of the server that have ended and were not reaped."""
    ours = str(the_server(server.setup.home).pid).encode()
    children = [pid for pid in os.listdir("/proc") if pid.isdecimal() and parent(pid) == ours]
    return [pid for pid in children if not Path(f"/proc/{pid}/exe").exists()]


async def test_a_command_leaves_no_process_behind(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        script = "(setsid sh -c ': leaves something; echo > bell; sleep 600' &); cat bell"
        os.mkfifo(server.setup.work / "bell")
        for _ in range(5):
            done = await ask(server, "execOneOffCommand", command=["sh", "-c", script], sandboxPolicy=FULL)
            assert done == {"exitCode": 0, "stdout": "\n", "stderr": ""}
            assert left(server) == []
        assert zombies_of(server) == []


async def test_a_command_without_an_environment_is_ended_too(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        script = "sleep 600 & echo $! > pid; echo > bell; wait"
        command = {"command": ["env", "-i", "/bin/sh", "-c", script], "timeoutMs": 3000, "sandboxPolicy": FULL}
        async with doorbell(server.setup.work / "bell") as rung:
            request = server.request("execOneOffCommand", command)
            await rung.wait()
        assert (await server.answer(request))["error"]["code"] == -32603
        pid = int((server.setup.work / "pid").read_text())
        await server.until(lambda: not Path(f"/proc/{pid}/exe").exists())


async def test_the_end_of_stdin_ends_a_command(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        async with doorbell(server.setup.work / "bell") as rung:
            script = f"echo > {server.setup.work}/bell; exec sleep 600"
            command = {"command": ["sh", "-c", script], "timeoutMs": 600_000, "sandboxPolicy": FULL}
            request = server.request("execOneOffCommand", command)
            await rung.wait()
        server.close_stdin()
        answer = await server.answer(request)
        assert answer["error"]["code"] == -32603
        assert await server.exit_code() == 0


async def test_every_request_is_answered_once_when_codex_dies(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        conversation = await new(server)
        await listen(server, conversation)
        await say(server, conversation, scene("endless"))
        await server.wait_for(lambda message: message.get("method") == "codex/event/agent_message_delta")
        async with doorbell(server.setup.work / "bell") as rung:
            script = f"echo > {server.setup.work}/bell; exec sleep 600"
            command = {"command": ["sh", "-c", script], "timeoutMs": 600_000, "sandboxPolicy": FULL}
            running = server.request("execOneOffCommand", command)
            await rung.wait()
        await server.kill_core()
        answer = await server.answer(running)
        assert answer["error"]["message"].startswith("exec failed: Codex ended unexpectedly")
        assert await ask(server, "interruptConversation", conversationId=conversation) == {"abortReason": "interrupted"}
        # The conversation goes on in the next Codex, with the settings of its last turn.
        sent = turn(conversation, scene("say", text="again"), server.setup.work)
        assert await ask(server, "sendUserTurn", **sent) == {}
        assert (await ended(server, conversation, 2))["last_agent_message"] == "again"
        ids = [message["id"] for message in server.messages if "id" in message and "method" not in message]
        assert len(ids) == len(set(ids))


async def test_what_a_turn_has_set_stays_when_codex_is_restarted(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        conversation = await new(server, model="first-model", sandbox="read-only")
        await listen(server, conversation)
        other = tmp_path / "other"
        other.mkdir()
        sandbox = {"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir_env_var": True}
        sent = turn(conversation, scene("say"), other, model="second-model", sandboxPolicy=sandbox)
        assert await ask(server, "sendUserTurn", **sent) == {}
        await ended(server, conversation, 0)
        await server.kill_core()
        await say(server, conversation, scene("run", cmd="pwd > here.txt"))
        await ended(server, conversation, 1)
        assert model.requests[-1].json["model"] == "second-model"
        assert (other / "here.txt").read_text() == f"{other}\n"
        config = server.setup.codex_home / "config.toml"
        assert not config.exists() or "trust_level" not in config.read_text()


class WithoutNamespaces(Setup):
    """A server on a machine where no sandbox can be set up."""

    def argv(self) -> list[str]:
        """The command line, in a namespace that allows no further ones."""
        forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
        return ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh", *super().argv()]


async def test_a_command_that_cannot_be_confined_is_not_run(tmp_path: Path) -> None:
    async with (
        ScriptedModel(load_script(SCENES)) as model,
        McpServer(WithoutNamespaces(tmp_path, model.codex_overrides())) as server,
    ):
        for mode in ("read-only", "workspace-write"):
            command = {"command": ["sh", "-c", "echo ran; touch made.txt"], "sandboxPolicy": {"mode": mode}}
            code, text = await refusal(server, "execOneOffCommand", **command)
            assert code == -32603
            assert text.startswith("exec failed: sandbox error: bwrap: ")
            assert text.endswith("the command was not run")
        assert not (server.setup.work / "made.txt").exists()
        unconfined = {"command": ["echo", "ran"], "sandboxPolicy": FULL}
        assert (await ask(server, "execOneOffCommand", **unconfined))["stdout"] == "ran\n"
