"""`codex-mcp show`, `watch`, `interrupt` and `close`, beside real servers."""

import asyncio
import contextlib
import json
import os
import pwd
import signal
from collections.abc import AsyncIterator
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.test_agents_at_the_door import running
from tests.support.http.http_server import http_server
from tests.support.http.mcp_client import BOTH, Door, call, stateless
from tests.support.servers.child import Child
from tests.support.servers.commands import PROGRAM, command
from tests.support.servers.mcp_server import TOUR, Setup
from tests.support.team.team_server import GATE, TeamServer, say, team_server


async def run(server: TeamServer, *words: str) -> tuple[int, str, str]:
    """Run a command in the server's home, while the server works."""
    done = await asyncio.to_thread(command, server.setup.home, *words)
    return done.returncode, done.stdout, done.stderr


async def test_an_agent_is_interrupted_and_closed_from_a_terminal(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, model):
        started = await server.start(GATE, identity="arch", background=True)
        await model.wait_for_gate("gate")
        code, said, _ = await run(server, "interrupt", "arch")
        assert (code, f"The turn of agent arch ({started['codex_id']}) was stopped" in said) == (0, True)
        code, said, _ = await run(server, "interrupt", started["threadId"])
        assert (code, "arch" in said) == (0, True)
        code, said, _ = await run(server, "close", started["codex_id"])
        assert (code, said.partition(".")[0]) == (0, f"Agent arch ({started['codex_id']}) is closed")
        acted = [entry for entry in server.audit() if entry["event"] == "control"]
        assert [(each["what"], each["via"]) for each in acted] == [
            *[("codex_interrupt", "codex-mcp interrupt")] * 2,
            ("codex_close", "codex-mcp close"),
        ]
        assert {each["by"] for each in acted} == {pwd.getpwuid(os.geteuid()).pw_name}
        for name in ("interrupt", "close", "watch"):
            code, said, error = await run(server, name, "arch")
            assert (code, said) == (1, "")
            assert f"no server runs agent arch ({started['codex_id']}): it is closed" in error
            code, said, error = await run(server, name, "nobody\x1b[31m")
            assert (code, said) == (3, "")
            assert error.startswith(f"codex-mcp {name}: there is no agent nobody\\u{{1b}}[31m in ")


async def test_the_conversation_of_an_agent_is_shown_whether_it_runs_or_not(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        started = await server.start("\x1b[31m" + say("a bell rings"), identity="arch")
        code, live, _ = await run(server, "show", "arch")
        assert (code, "**User:**\n\n\\u{1b}[31m" in live, "a bell rings" in live) == (0, True, True)
        server.process.kill()
        await server.exit_code()
        # Its server and its Codex are gone: one of our own reads what they have written.
        code, stale, error = await run(server, "show", "arch")
        assert (code, stale, error) == (0, live, "")
        code, text, _ = await run(server, "show", started["codex_id"], "--json")
        assert code == 0
        assert json.loads(text) | {"text": ""} == {
            "schema": 1,
            "codex_id": started["codex_id"],
            "identity": "arch",
            "thread_id": started["threadId"],
            "status": "stale",
            "text": "",
        }
        assert (await run(server, "show", "nobody"))[0] == 3


async def test_an_agent_whose_server_is_stopped_is_shown_as_far_as_it_is_written(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"), identity="arch")
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            code, said, error = await run(server, "show", "arch")
            assert (code, "hello" in said) == (0, True)
            assert f"server process {server.process.pid} does not answer" in error
            assert "and a turn that still runs is called interrupted" in error
            code, said, error = await run(server, "close", "arch")
            assert (code, said) == (1, "")
            assert f"codex-mcp close: server process {server.process.pid} does not answer" in error
        finally:
            os.kill(server.process.pid, signal.SIGCONT)


@contextlib.asynccontextmanager
async def watching(server: TeamServer, name: str) -> AsyncIterator[Child]:
    """`codex-mcp watch NAME`, which has begun."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(server.setup.home)}
    async with Child([PROGRAM, "watch", name], environment, server.setup.home) as child:
        assert f"{name} (codex:" in (await child.stdout.readline()).decode()
        yield child


async def test_an_agent_is_followed_until_it_is_closed(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"), identity="arch", sandbox="danger-full-access")
        async with watching(server, "arch") as child:
            await server.reply("arch", str(running("printf '\\033[31mred'")["prompt"]))
            await server.reply("arch", say("that was it"))
            await server.close_agent("arch")
            seen = (await child.stdout.read()).decode()
            assert await child.exit_code() == 0
        assert "prompt   [[scene: run" in seen
        assert "runs     $ printf" in seen
        assert "\\u{1b}[31mred\n" in seen
        assert "agent    that was it" in seen
        assert seen.rstrip().endswith("arch is not run by this server any longer.")
        assert all(char.isprintable() or char == "\n" for char in seen)


async def test_who_follows_an_agent_is_told_when_its_server_ends(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        await server.start(say("hello"), identity="arch")
        async with watching(server, "arch") as child:
            server.process.kill()
            await server.exit_code()
            assert await child.exit_code() == 1
            assert f"codex-mcp watch: server process {server.process.pid} has ended" in child.stderr


async def test_agents_of_every_principal_of_a_server_over_http_are_shown_and_closed(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("alice the-token-of-alice-0123456789\n")
    (tmp_path / "tokens").chmod(0o600)
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), ["--tokens", str(tmp_path / "tokens")], {}, "serve")
        async with http_server(setup) as server:
            message, headers = stateless(call(1, "codex", {"prompt": say("for alice"), "identity": "arch"}))
            door = Door(server.port, accept=BOTH, authorization="Bearer the-token-of-alice-0123456789")
            assert (await door.ask("POST", message, **headers)).status == 200
            shown = await asyncio.to_thread(command, setup.home, "show", "arch")
            assert (shown.returncode, "for alice" in shown.stdout) == (0, True)
            closed = await asyncio.to_thread(command, setup.home, "close", "arch")
            assert (closed.returncode, "is closed" in closed.stdout) == (0, True)
