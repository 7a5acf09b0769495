"""The newest Codex as our core: found on PATH, with the settings as they are by default.

The acceptance tests run with the oldest one, which is the one that is installed with us.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp import __version__
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.cli.doctor.self_test import run_self_test
from codex_mcp.codex.binary import find_codex
from codex_mcp.codex.versions.measured import shown
from codex_mcp.codex.versions.verdict import Verdict
from codex_mcp.codex.versions.verdicts import identity_of, record
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.judges import newest_codex, run
from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.processes import the_core
from tests.support.servers.mcp_server import TOUR, McpServer, Setup, scripted_server
from tests.support.team.team_server import say, structured, team_server

ON_PATH = {"PATH": f"{newest_codex().parent}{os.pathsep}{os.environ['PATH']}"}

VERSION = json.loads((newest_codex().parents[1] / "codex-package.json").read_text())["version"]

ASKING = {"sandbox": "read-only", "approval-policy": "on-request"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which the newest Codex has passed, also if it is so new that our table does not have it."""
    home = tmp_path / "home/.codex"
    home.mkdir(parents=True)
    verdict = Verdict(identity=identity_of(str(newest_codex())), sha256="", version=VERSION, by=__version__)
    record(verdict, str(home))
    return home


def check_core(server: McpServer) -> None:
    assert os.path.realpath(the_core(server.setup.home).argv[0]) == str(newest_codex())


def test_it_passes_the_self_test(tmp_path: Path) -> None:
    settings = CoreSettings(codex_home=str(tmp_path), codex_version=str(newest_codex()), allow_untested_codex=True)
    found = find_codex(settings, "")
    assert shown(found.version) == VERSION
    assert run_self_test(found, str(tmp_path), os.environ) == ("", "")


def test_doctor_finds_it_on_path(home: Path) -> None:
    surroundings = {**ON_PATH, "HOME": str(home.parent), "CODEX_HOME": str(home)}
    argv = [sys.executable, "-m", "codex_mcp", "doctor", "--turn", "--json"]
    ended = subprocess.run(argv, env=surroundings, cwd=home.parent, capture_output=True, text=True, check=False)
    found = {each["check"]: each for each in json.loads(ended.stdout)["checks"]}
    assert found["codex.version"]["level"] == "ok", found
    assert f"Codex {VERSION}, found on PATH: " in found["codex.version"]["text"]
    assert "codex.unused" not in found
    assert [found[name]["level"] for name in ("codex.handshake", "turn")] == ["ok", "ok"]


@pytest.mark.usefixtures("home")
async def test_a_team_works_with_it_and_asks(tmp_path: Path) -> None:
    async with team_server(tmp_path, environment=ON_PATH) as (server, model):
        ann = await server.start(say("the harbour is frozen"), identity="ann")
        call = server.call("codex", {"prompt": '[[scene: escalate cmd="touch asked"]]', "identity": "bob", **ASKING})
        server.send({"jsonrpc": "2.0", "id": (await server.question())["id"], "result": {"action": "accept"}})
        assert structured(await server.result(call))["content"] == "It ran."
        assert (server.setup.work / "asked").exists()
        again = await server.reply("ann", say("still here"))
        assert (again["content"], again["threadId"]) == ("still here", ann["threadId"])
        assert b"the harbour is frozen" in model.requests[-1].body
        assert {each["identity"] for each in (await server.threads()).values()} == {"ann", "bob"}
        check_core(server)


@pytest.mark.usefixtures("home")
async def test_a_thread_that_the_user_began_with_it_is_continued(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), (), ON_PATH)
        words = [word for override in setup.overrides for word in ("-c", override)]
        argv = [str(newest_codex()), "exec", "--skip-git-repo-check", "--json", *words, say("the harbour is frozen")]
        setup.make()
        ended = await run(argv, setup, ON_PATH)
        assert ended.code == 0, ended
        events = [json.loads(line) for line in ended.stdout.splitlines()]
        (thread,) = (event["thread_id"] for event in events if event["type"] == "thread.started")
        async with McpServer(setup) as server:
            await server.initialize()
            result = await server.run("codex-reply", {"threadId": thread, "prompt": say("I go on")})
            assert structured(result)["content"] == "I go on"
            assert b"the harbour is frozen" in model.requests[-1].body
            check_core(server)


@pytest.mark.usefixtures("home")
async def test_its_agents_run_commands_on_an_exec_server(tmp_path: Path) -> None:
    free = {"sandbox": "danger-full-access", "approval-policy": "never"}
    with served_by(["env", "PLACE=there", *own_exec_server()]):
        async with (
            running_exec_server(tmp_path / "there") as there,
            scripted_server(tmp_path, "--exec-server", there.url, environment=ON_PATH) as (server, _model),
        ):
            await server.initialize()
            result = await server.run("codex", {"prompt": '[[scene: run cmd="echo at=$PLACE"]]', **free})
            assert "at=there" in structured(result)["content"]
            check_core(server)
