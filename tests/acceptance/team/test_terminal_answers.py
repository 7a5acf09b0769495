"""Answers from a terminal that come too late, are lost on their way, or reach a server that is stopped or killed."""

import asyncio
import contextlib
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.control.asked import Asked
from codex_mcp.control.failures import CannotReach, Why
from codex_mcp.control.questions import NotUsed, find_question, give_answer, open_questions
from codex_mcp.control.server import Caller, connect_server
from codex_mcp.transports.local.sockets import dial, listening
from codex_mcp.wire import control
from tests.acceptance.team.test_terminal_approvals import ASKS, approvals, lines, listed, watching
from tests.support.processes import the_core
from tests.support.servers.control_socket import socket_of
from tests.support.state.quick_lease import quick_team
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, structured, team_server

PERSON = Caller(program="codex-mcp approvals", person="mira")
YES = control.Given(decision="approved")
ESCALATE = "[[scene: escalate]]"


@contextlib.asynccontextmanager
async def asking(folder: Path, *flags: str) -> AsyncIterator[tuple[TeamServer, Asked]]:
    """A server whose agent asks whether it may run a command, which no client can be asked."""
    async with team_server(folder, *flags, script=TEAM_SCRIPT, elicitation=False) as (server, _model):
        await server.start(ESCALATE, identity="arch", background=True, **ASKS)
        while not (found := (await open_questions(str(server.state_dir), PERSON, {})).asked):
            pass
        yield server, found[0]


async def receipt(server: TeamServer, asked: Asked) -> control.Receipt:
    """How the question has ended, once it has."""
    while True:
        found = await find_question(str(server.state_dir), asked.question.id, PERSON, {})
        if found.asked and found.asked[0].question.receipt is not None:
            return found.asked[0].question.receipt


async def refused(server: TeamServer, asked: Asked) -> str:
    """What is said of an answer that is not used."""
    code, said, error = await approvals(server, "answer", asked.question.id, "approved")
    assert (code, said) == (1, "")
    return error


async def test_an_answer_to_a_question_that_has_expired_is_not_used_and_told_so(tmp_path: Path) -> None:
    async with asking(tmp_path, "--approval-timeout", "1") as (server, asked):
        assert (await receipt(server, asked)).state == "expired"
        said = await refused(server, asked)
        assert "It expired " in said
        assert "s ago: no one answered within 1 seconds. This answer was not used." in said
        assert [entry["what"] for entry in server.audit() if entry["event"] == "approval"] == ["expired"]


async def test_an_answer_to_a_question_that_was_withdrawn_is_not_used_and_told_so(tmp_path: Path) -> None:
    async with asking(tmp_path) as (server, asked):
        await server.run("codex_interrupt", {"id": "arch"})
        assert (await receipt(server, asked)).state == "withdrawn"
        assert "s ago: its turn was stopped" in await refused(server, asked)


async def test_an_answer_to_a_question_that_was_lost_with_codex_is_not_used_and_told_so(tmp_path: Path) -> None:
    async with asking(tmp_path) as (server, asked):
        os.kill(the_core(server.setup.home).pid, signal.SIGKILL)
        assert (await receipt(server, asked)).state == "lost"
        assert "s ago: Codex or its server ended" in await refused(server, asked)


async def test_what_a_stopped_server_was_told_it_may_still_do_and_the_terminal_says_so(tmp_path: Path) -> None:
    async with asking(tmp_path) as (server, asked):
        answer = control.Answer(id=asked.question.id, digest=asked.question.digest, key="k", answer=YES)
        async with connect_server(str(server.state_dir), asked.node, PERSON, name=asked.server) as (reached, _):
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                with pytest.raises(CannotReach, match=r"does not answer: .* it may still do what it was told"):
                    await reached.call(control.ANSWER, answer, changes=True)
                # Whoever asks only now cannot tell whether there is such a question.
                error = await refused(server, asked)
                assert ("does not answer" in error, "no other server knows a question" in error) == (True, True)
            finally:
                os.kill(server.process.pid, signal.SIGCONT)


async def test_a_question_ends_with_its_server_that_is_killed_while_it_is_answered(tmp_path: Path) -> None:
    async with asking(tmp_path) as (server, asked):
        os.kill(server.process.pid, signal.SIGSTOP)
        tasks = TaskSet()
        answering = tasks.spawn(give_answer(str(server.state_dir), asked, YES, PERSON), name="answer")
        for _ in range(10):
            await asyncio.sleep(0)
        server.process.kill()
        await asyncio.wait([answering])
        failed = answering.exception()
        assert isinstance(failed, CannotReach)
        assert (failed.why, "and what it ran has ended with it" in str(failed)) == (Why.ENDED, True)
        await server.exit_code()
        assert await open_questions(str(server.state_dir), PERSON, {}) == await open_questions("/nowhere", PERSON, {})
        await tasks.aclose()


async def test_a_server_without_a_valid_lease_decides_nothing_until_it_has_one_again(tmp_path: Path) -> None:
    async with quick_team(tmp_path, ()) as (server, _model):
        call = server.call("codex", {"prompt": ESCALATE, "identity": "arch", **ASKS})
        await server.question()
        folder = str(server.state_dir)
        (asked,) = (await open_questions(folder, PERSON, {})).asked
        with contextlib.closing(sqlite3.connect(server.state_dir / "state.db", isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")  # so that the server cannot write
            await server.until(lambda: "was holding and is frozen" in server.log)
            with pytest.raises(NotUsed, match="does not hold its lease at the moment: nothing was decided; try again"):
                await give_answer(folder, asked, YES, PERSON)
            another.execute("ROLLBACK")
        verdict = None
        while verdict is None:
            with contextlib.suppress(NotUsed):
                verdict = await give_answer(folder, asked, YES, PERSON)
        assert (verdict.used, structured(await server.result(call))["content"]) == (True, "It ran.")


class Between:
    """Stands in the place of a server's socket, and breaks the first connection once the server has answered on it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._behind = path.with_name("behind")
        self._tasks = TaskSet()
        self.broken = 0

    async def __aenter__(self) -> "Between":
        self._path.rename(self._behind)
        self._server = await asyncio.start_unix_server(self._serve, sock=listening(str(self._path)))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._tasks.aclose()
        self._path.unlink()
        self._behind.rename(self._path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, to_server = await asyncio.open_unix_connection(sock=await dial(str(self._behind)))
        try:
            while line := await reader.readline():
                to_server.write(line)
                answer = await behind.readline()
                if control.ANSWER.encode() in line and not self.broken:
                    self.broken += 1
                    return
                writer.write(answer)
        finally:
            to_server.close()
            writer.close()


async def test_an_answer_whose_connection_breaks_is_sent_again_and_counts_once(tmp_path: Path) -> None:
    async with asking(tmp_path) as (server, asked):
        async with Between(await socket_of(server)) as between:
            verdict = await give_answer(str(server.state_dir), asked, YES, PERSON)
        assert (between.broken, verdict.used, verdict.decision, verdict.by) == (1, True, "approved", "mira")
        (finished,) = structured(await server.run("codex_wait", {"ids": ["arch"]}))["finished"]
        assert finished["content"] == "It ran."
        assert [entry["what"] for entry in server.audit() if entry["event"] == "approval"] == ["approved"]


async def test_an_answer_of_the_client_closes_the_question_in_the_terminal(tmp_path: Path) -> None:
    async with team_server(tmp_path, script=TEAM_SCRIPT) as (server, _model), watching(server) as child:
        call = server.call("codex", {"prompt": ESCALATE, "identity": "arch", **ASKS})
        asked = await server.question()
        (row,) = await listed(server)
        assert await lines(child, 1) == [("opened", row["id"], "arch")]
        server.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
        assert await lines(child, 1) == [("closed", row["id"], "arch")]
        assert structured(await server.result(call))["content"] == "It was refused."
        assert "It was answered (denied) by tests" in (await approvals(server, "answer", row["id"], "approved"))[2]
