"""`codex-mcp approvals`: what agents of real servers ask is seen and answered from a terminal."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.servers.child import Child
from tests.support.servers.commands import PROGRAM, command
from tests.support.servers.control_socket import HELLO, raw_control, socket_of
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, structured, team_server

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}
RECORDINGS = Path(__file__).parents[2] / "support/scripts/recordings.toml"


async def approvals(server: TeamServer, *words: str) -> tuple[int, str, str]:
    """Run the command in the server's home, while the server works."""
    done = await asyncio.to_thread(command, server.setup.home, "approvals", *words, USER="mira", ATM_IDENTITY="mira")
    return done.returncode, done.stdout, done.stderr


async def listed(server: TeamServer, count: int = 1) -> list[Json]:
    """What waits for an answer, once so many questions do."""
    async with asyncio.timeout(PATIENCE):
        while len(rows := json.loads((await approvals(server, "--json"))[1])["approvals"]) != count:
            pass
    found: list[Json] = rows
    return found


async def test_a_question_that_no_client_can_be_asked_is_answered_in_a_terminal(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT, elicitation=False) as (server, _model):
        arch = await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        (question,) = arch["approvals"]
        code, text, error = await approvals(server)
        assert (code, error) == (0, "")
        assert text.startswith(f"{question['id']}: agent arch, server process {server.process.pid}, asked ")
        assert f"answer with: codex-mcp approvals answer {question['id']} DECISION" in text
        assert "    approved: Allow this once" in text
        (row,) = await listed(server)
        assert (row["id"], row["state"], row["principal"]) == (question["id"], "open", "local")
        saved = {offer["decision"]: offer.get("saves") for offer in row["offered"]}
        assert saved == {
            "approved": None,
            "approved_execpolicy_amendment": "touch made.txt",
            "denied": None,
            "abort": None,
        }
        code, text, _ = await approvals(server, "show", row["id"])
        assert (code, "It has to write a file." in text) == (0, True)
        # Answers that do not fit are refused, and decide nothing.
        for words in (["maybe"], ["--content", '{"a": 1}'], ["approved_mcp_policy_amendment"]):
            code, _, error = await approvals(server, "answer", row["id"], *words)
            assert (code, error.startswith("codex-mcp approvals: the answer was not used: ")) == (1, True)
            assert "Invalid params" not in error
        code, text, _ = await approvals(server, "answer", row["id"], "approved")
        assert (code, text) == (0, "Answered: approved.\n")
        (finished,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert finished["content"] == "It ran."
        code, _, error = await approvals(server, "answer", row["id"], "denied", "--reason", "late")
        assert (code, "It was answered (approved) by mira" in error) == (1, True)
        assert "This answer was not used." in error
        code, text, _ = await approvals(server, "show", row["id"], "--json")
        assert (code, json.loads(text)["approval"]["receipt"]["decision"]) == (0, "approved")
        decided = [entry for entry in server.audit() if entry["event"] == "approval"]
        assert [(entry["what"], entry["by"], entry["via"]) for entry in decided] == [("approved", "mira", "terminal")]
        assert (await approvals(server, "show", "no/such\x1b"))[0] == 3
        assert (await approvals(server))[1] == "Nothing waits for an answer.\n"


async def test_a_question_that_a_client_is_asked_is_withdrawn_there(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, _model):
        call = server.call("codex", {"prompt": "[[scene: escalate]]", "identity": "arch", **ASKS})
        asked = await server.question()
        (row,) = await listed(server)
        assert row["asked_of"][0]["client"] == "tests"
        code, _, _ = await approvals(server, "answer", row["id"], "denied", "--reason", "not today")
        assert code == 0
        withdrawn = await server.wait_for(lambda message: message.get("method") == "notifications/cancelled")
        assert withdrawn["params"]["requestId"] == asked["id"]
        assert structured(await server.result(call))["content"] == "It was refused."


async def test_a_question_for_data_is_answered_with_content(tmp_path: Path) -> None:
    flags = ("-c", "features.default_mode_request_user_input=true")
    async with team_server(tmp_path, *flags, script=RECORDINGS, elicitation=False) as (server, model):
        await server.start("[[scene: ask-user]]", identity="arch", **ASKS)
        (row,) = await listed(server)
        assert (row["kind"], row["offered"]) == ("user_input", [])
        code, text, _ = await approvals(server)
        assert "colour: Which colour? (red, blue)" in text
        code, _, error = await approvals(server, "answer", row["id"], "approved")
        assert (code, "the answer was not used" in error, "`colour`" in error) == (1, True, True)
        code, _, _ = await approvals(server, "answer", row["id"], "--content", '{"colour": "blue"}')
        assert code == 0
        await server.run("codex_wait", {"ids": ["arch"]})
        assert "blue" in str(model.requests[-1])


@contextlib.asynccontextmanager
async def watching(server: TeamServer) -> AsyncIterator[Child]:
    """`codex-mcp approvals --watch --json`."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(server.setup.home)}
    async with Child([PROGRAM, "approvals", "--watch", "--json"], environment, server.setup.home) as child:
        yield child


async def lines(child: Child, count: int) -> list[tuple[str, str, str]]:
    """The next events: what, of which question, of which agent."""
    found: Sequence[Json] = [json.loads(await child.stdout.readline()) for _ in range(count)]
    return [(each["event"], each["approval"]["id"], each["approval"]["agent"]) for each in found]


async def test_questions_of_all_servers_are_followed(tmp_path: Path) -> None:
    deaf: Json = {"script": TEAM_SCRIPT, "elicitation": False}
    async with team_server(tmp_path, **deaf) as (one, _), team_server(tmp_path, **deaf) as (other, _other):
        await one.start("[[scene: escalate]]", identity="arch", **ASKS)
        (first,) = await listed(one)
        async with watching(one) as child:
            assert await lines(child, 1) == [("opened", first["id"], "arch")]
            await other.start("[[scene: escalate]]", identity="dev", **ASKS)
            ((opened, second, agent),) = await lines(child, 1)
            assert (opened, agent) == ("opened", "dev")
            await approvals(one, "answer", second, "approved")
            assert await lines(child, 1) == [("closed", second, "dev")]
            other.process.kill()
            await other.exit_code()
            os.kill(one.process.pid, signal.SIGSTOP)
            try:
                while f"server process {one.process.pid} does not answer" not in child.stderr:
                    await approvals(one)
            finally:
                os.kill(one.process.pid, signal.SIGCONT)
            assert await lines(child, 1) == [("opened", first["id"], "arch")]  # it is shown again once it answers


async def test_another_principals_question_does_not_exist_and_reading_does_not_decide(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT, elicitation=False) as (server, _model):
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        (row,) = await listed(server)
        answer = {"id": row["id"], "digest": row["digest"], "key": "k", "answer": {"decision": "approved"}}
        async with raw_control(await socket_of(server), HELLO | {"as": "mira"}) as client:
            assert (await client.ask("control/follow", {"topics": ["questions"]}))["result"]["questions"] == []
            for method, params in (("control/question", {"id": row["id"]}), ("control/answer", answer)):
                said = (await client.ask(method, params))["error"]["message"]
                assert said == f"Invalid params: no question {row['id']} is known here"
        async with raw_control(await socket_of(server), HELLO | {"view": True}) as client:
            assert (await client.ask("control/question", {"id": row["id"]}))["result"]["id"] == row["id"]
            assert (await client.ask("control/answer", answer))["error"]["message"] == "this connection may only read"
        async with raw_control(await socket_of(server)) as client:
            changed = (await client.ask("control/answer", answer | {"digest": "0"}))["error"]
            assert (changed["code"], changed["data"]) == (-32014, {"digest": row["digest"]})
            first = (await client.ask("control/answer", answer))["result"]
            assert (first["used"], first["by"], first["via"]) == (True, "mira", "terminal")
            assert (await client.ask("control/answer", answer))["result"]["used"]  # repeated with its key
            assert not (await client.ask("control/answer", answer | {"key": "other"}))["result"]["used"]


async def test_words_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    for words in (
        ["show"],
        ["list", "x"],
        ["show", "x", "y"],
        ["answer", "x"],
        ["answer", "x", "approved", "--content", "{}"],
        ["answer", "x", "approved", "--reason", "why"],
        ["answer", "x", "--content", "[]"],
        ["show", "x", "--reason", "why"],
        ["show", "x", "--watch"],
    ):
        done = await asyncio.to_thread(command, tmp_path, "approvals", *words)
        assert (done.returncode, done.stdout) == (2, ""), words


async def read_until(child: Child, text: str) -> str:
    """What it prints until there is this text, without its line breaks."""
    seen = ""
    while text not in seen:
        line = (await child.stdout.readline()).decode()
        assert line, seen
        seen = " ".join([seen, *line.split()])
    return seen


async def test_who_watches_an_agent_sees_what_it_asks_and_what_is_decided(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT, elicitation=False) as (server, _model):
        await server.start("[[scene: escalate]]", identity="arch", **ASKS)
        (row,) = await listed(server)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(server.setup.home)}
        async with Child([PROGRAM, "watch", "arch"], environment, server.setup.home) as child:
            seen = await read_until(child, "denied: Deny")
            assert "codex asks: Allow Codex to run" in seen
            assert f"answer with: codex-mcp approvals answer {row['id']} DECISION" in seen
            await approvals(server, "answer", row["id"], "approved")
            assert "codex It was answered (approved) by mira" in await read_until(child, "agent It ran.")
