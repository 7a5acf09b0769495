"""What an HTTP server keeps in its folder: who owns a thread, which sessions have ended, its own token."""

import asyncio
import contextlib
import os
import sqlite3
from pathlib import Path

from codex_mcp.mcp.http.ended_sessions import DATABASE
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.http.http_server import ChildServer
from tests.support.http.mcp_client import SESSION, Door, Json, call, initialize, request
from tests.support.servers.mcp_server import TOUR, Setup

ADA = "a" * 32
SAY = '[[scene: say text="done"]]'


def server_of(folder: Path, model: ScriptedModel, *flags: str) -> ChildServer:
    setup = Setup(folder, model.codex_overrides(), flags)
    return ChildServer(setup, [*setup.argv(), "--port", "0"])


async def test_a_deleted_session_stays_ended_after_a_restart_and_others_do_not(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        async with server_of(tmp_path, model) as server:
            ids = []
            for _ in range(2):
                answer = await Door(server.port).ask("POST", initialize())
                ids.append(answer.headers[SESSION])
            assert (await Door(server.port, mcp_session_id=ids[0]).ask("DELETE")).status == 200
        async with server_of(tmp_path, model) as server:
            asked = [await Door(server.port, mcp_session_id=each).ask("POST", request(1, "ping")) for each in ids]
            assert [answer.status for answer in asked] == [404, 200]


async def test_a_locked_list_of_ended_sessions_delays_only_the_client_that_ends_one(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model, server_of(tmp_path, model) as server:
        ended, other = [
            Door(server.port, mcp_session_id=(await Door(server.port).ask("POST", initialize())).headers[SESSION])
            for _ in range(2)
        ]
        with contextlib.closing(sqlite3.connect(server.setup.codex_home / DATABASE, isolation_level=None)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            async with asyncio.TaskGroup() as tasks:
                deleting = tasks.create_task(ended.ask("DELETE"))
                while (await ended.ask("POST", request(1, "ping"))).status != 404:
                    pass
                assert (await other.ask("POST", request(1, "ping"))).status == 200
                assert not deleting.done()
                holder.execute("ROLLBACK")
        assert deleting.result().status == 200


async def test_a_server_without_tokens_does_not_continue_the_thread_of_a_principal(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"ada {ADA}\n")
    async with ScriptedModel(load_script(TOUR)) as model:
        async with server_of(tmp_path, model, "--tokens", str(tmp_path / "tokens")) as server:
            hers = await Door(server.port, "/", authorization=f"Bearer {ADA}").post(call(1, "codex", {"prompt": SAY}))
        async with server_of(tmp_path, model) as server:
            open_to_all = Door(server.port, "/")
            own = await open_to_all.post(call(1, "codex", {"prompt": SAY}))
            results = [await open_to_all.post(_reply(thread)) for thread in (hers, own)]
        assert results[0]["result"]["isError"] is True
        assert "Session not found" in results[0]["result"]["content"][0]["text"]
        assert results[1]["result"]["structuredContent"]["content"] == "done"
    home = server.setup.codex_home
    assert {file.stat().st_mode & 0o077 for file in (home / "codex-mcp").iterdir()} == {0}


def _reply(answer: Json) -> Json:
    return call(2, "codex-reply", {"threadId": answer["result"]["structuredContent"]["threadId"], "prompt": SAY})


async def test_a_generated_token_is_asked_for_and_printed_nowhere(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model, server_of(tmp_path, model, "--generate-token") as server:
        token = (server.setup.codex_home / "codex-mcp" / "token").read_text().strip()
        assert (await Door(server.port, "/").ask("POST", request(1, "ping"))).status == 401
        assert (await Door(server.port, "/", authorization=f"Bearer {token}").post(request(1, "ping")))["result"] == {}
        assert str(Path("codex-mcp") / "token") in server.stderr
    assert token not in server.stderr
    assert "requires no token" not in server.stderr


async def test_root_is_warned_of_a_server_that_needs_no_token(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model, server_of(tmp_path, model) as server:
        is_root = os.geteuid() == 0
        assert ("runs as root and requires no token" in server.stderr) == is_root
