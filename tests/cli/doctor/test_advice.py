"""The real doctor in a home of its own: each problem is made, reported, and gone after its advice was followed.

What a test cannot make on this machine, a full disk and missing bubblewrap, the operating system's functions report.
"""

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.cli.doctor import cmd_doctor
from codex_mcp.cli.doctor.facts import Level
from codex_mcp.cli.parser import Parser
from codex_mcp.team.agent import AgentStatus
from tests.cli.doctor.test_checks import reportable
from tests.support.patience import PATIENCE
from tests.support.patient import NO_CODEX, Case, Patient, Step, entry, given, removed, written
from tests.support.servers.commands import PROGRAM
from tests.support.state.agents import an_agent, owned, register, state_folder_of

KEY = "sk-proj-" + "a1B2c3D4" * 5
DEAD = '{"mcpServers": {"x": {"command": "codex", "args": ["mcp-server"]}}}'
PROVIDER = '[model_providers.mine]\nname = "x"\nbase_url = "http://127.0.0.1:9/v1"\n'


def a_disk_with(free: int) -> Step:
    def patch(patient: Patient) -> None:
        patient.variables.update(NO_CODEX)
        patient.patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2**40, 2**40 - free, free))

    return patch


def undone(patient: Patient) -> None:
    patient.patch.undo()


def released(patient: Patient) -> None:
    patient.held.close()


def no_bubblewrap(patient: Patient) -> None:
    access = os.access
    patient.patch.setattr(os, "access", lambda path, mode: not str(path).endswith("/bwrap") and access(path, mode))


def a_held_lock(patient: Patient) -> None:
    patient.variables.update(NO_CODEX)
    path = patient.write(".config/atm/codex-sessions/opening.lock", "")
    file = patient.held.enter_context(path.open())
    fcntl.flock(file, fcntl.LOCK_EX)


def a_port_in_use(patient: Patient) -> None:
    server = patient.held.enter_context(socket.create_server(("127.0.0.1", 0)))
    patient.variables.update(NO_CODEX, CODEX_MCP_PORT=str(server.getsockname()[1]))


def a_sign_in_that_others_can_read(patient: Patient) -> None:
    patient.variables.update(NO_CODEX)
    patient.write(".codex/auth.json", "{}").chmod(0o644)


def stale_agents(patient: Patient) -> None:
    patient.variables.update(NO_CODEX)
    folder = state_folder_of(patient.home)
    folder.mkdir(parents=True)
    register(folder, owned(an_agent(1, "ann", status=AgentStatus.ACTIVE, days_ago=1), "gone"))


CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
WALL = """
[scenes.hello]
steps = [{ say = "Hello." }]
[scenes.wall]
when = "wall"
steps = [{ fail = 429, body = '{"error": {"type": "usage_limit_reached", "message": ""}}' }]
"""


def ask(server: Any, number: int, method: str, params: object) -> None:
    """Send a request, and wait for its answer."""
    asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(asked).encode() + b"\n")
    server.stdin.flush()
    while json.loads(server.stdout.readline()).get("id") != number:
        pass


def an_account_at_its_limit(patient: Patient) -> None:
    words, ends = [PROGRAM, "serve", "--scripted", str(patient.write("wall.toml", WALL))], subprocess.PIPE
    process = subprocess.Popen(words, stdin=ends, stdout=ends, env=patient.environment, cwd=patient.home)
    server = patient.held.enter_context(process)  # which closes its stdin
    ask(server, 0, "initialize", CLIENT)
    ask(server, 1, "tools/call", {"name": "codex", "arguments": {"prompt": "wall"}})
    again = {"name": "codex", "arguments": {"prompt": "hello", "when-limited": "try"}}
    patient.tries = lambda: ask(server, 2, "tools/call", again)
    patient.variables.update(NO_CODEX)


def state_in_a_file(patient: Patient) -> None:
    patient.write("file", "")
    patient.variables.update(NO_CODEX)
    patient.flags = ["--state-dir", "file"]


def a_state_without_encryption(patient: Patient) -> None:
    patient.variables.update(NO_CODEX)
    patient.variables["CODEX_MCP_STATE"] = "postgresql://me@db.example/team"


def no_state(patient: Patient) -> None:
    del patient.variables["CODEX_MCP_STATE"]


def no_flags(patient: Patient) -> None:
    patient.flags = []


def the_first_call(patient: Patient) -> None:
    asked = [("initialize", CLIENT), ("tools/call", {"name": "codex_status", "arguments": {}})]
    lines = [{"jsonrpc": "2.0", "id": number, "method": name, "params": p} for number, (name, p) in enumerate(asked)]
    ended = subprocess.run(
        [PROGRAM, "serve"],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        text=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(patient.home)},
        timeout=PATIENCE,
        check=True,
    )
    assert "result" in json.loads(ended.stdout.splitlines()[-1]), ended.stdout


def an_old_codex(patient: Patient) -> None:
    patient.codex('[ "$1" = --version ] && echo codex-cli 0.153.4 && exit', '[ "$1" = app-server ] && exit 1')
    patient.variables["CODEX_MCP_ALLOW_UNTESTED_CODEX"] = "true"


def an_address_where_nothing_answers(patient: Patient) -> None:
    patient.variables.update(NO_CODEX)
    words = [PROGRAM, "install", "cursor", "--http", "http://127.0.0.1:9/mcp"]
    subprocess.run(words, env=patient.environment, cwd=patient.home, check=True, capture_output=True)


def a_plugin_and_an_entry(patient: Patient) -> None:
    patient.variables.update(NO_CODEX)
    text = entry(PROGRAM, "serve")
    patient.write(".claude.json", text)
    place = patient.write(".claude/plugins/it/.mcp.json", text).parent
    installed = {"plugins": {"codex-mcp@it": [{"scope": "user", "installPath": str(place)}]}}
    patient.write(".claude/plugins/installed_plugins.json", json.dumps(installed))
    patient.write(".claude/settings.json", json.dumps({"enabledPlugins": {"codex-mcp@it": True}}))


def a_codex_on_path(version: str, *, with_entry: bool = False) -> Step:
    def write(patient: Patient) -> None:
        patient.says(version)
        if with_entry:
            patient.write(".mcp.json", DEAD)
            patient.variables.update(NO_CODEX)

    return write


def refusing(*lines: str, flags: tuple[str, ...] = ()) -> Step:
    def write(patient: Patient) -> None:
        patient.codex(*lines)
        patient.flags = list(flags)

    return write


USE_OUR_OWN = removed("CODEX_MCP_CODEX_BIN")
E, W = Level.ERROR, Level.WARNING


# The check, its level; how the problem is made; a part of the advice; how it is followed.
def a_provider_that_listens(patient: Patient) -> None:
    provider = patient.held.enter_context(socket.create_server(("127.0.0.1", 0)))
    address = f"http://127.0.0.1:{provider.getsockname()[1]}/v1"
    text = f'model_provider = "mine"\n{PROVIDER}'.replace("http://127.0.0.1:9/v1", address)
    patient.write(".codex/config.toml", text)


CASES = {
    "no Codex": Case("codex.found", E, given(**NO_CODEX), "leave it out", USE_OUR_OWN),
    "an old Codex": Case("codex.version", W, an_old_codex, "remove codex_version", USE_OUR_OWN),
    "a Codex on PATH that is not used": Case(
        "codex.unused", W, a_codex_on_path("0.166.0"), "update it", a_codex_on_path("0.163.0")
    ),
    "a Codex that does not start": Case(
        "codex.handshake",
        E,
        refusing('[ "$1" = app-server ] && echo no memory >&2 && exit 1'),
        "correct what it names",
        refusing(),
    ),
    "no sign-in, but a key": Case("sign-in", E, given(OPENAI_API_KEY=KEY), "--with-api-key", Patient.follow_command),
    "a provider without its key": Case(
        "sign-in.provider-key",
        E,
        written(".codex/config.toml", f'model_provider = "mine"\n{PROVIDER}env_key = "MY_KEY"\n', is_quick=False),
        "set MY_KEY",
        given(MY_KEY=KEY),
    ),
    "a provider of this machine that does not answer": Case(
        "sign-in.provider-address",
        E,
        written(".codex/config.toml", f'model_provider = "mine"\n{PROVIDER}', is_quick=False),
        "start it, or correct its base_url",
        a_provider_that_listens,
    ),
    "a provider elsewhere that does not answer": Case(
        "sign-in.provider-address",
        W,
        written(
            ".codex/config.toml",
            f'model_provider = "mine"\n{PROVIDER}'.replace("127.0.0.1", "0.0.0.0"),  # does not say that it is here
            is_quick=False,
        ),
        "check the network and its base_url",
        a_provider_that_listens,
    ),
    "a setting that cannot be used": Case(
        "settings", E, given(CODEX_MCP_PORT="none"), "correct this setting", given(CODEX_MCP_PORT="3333")
    ),
    "a setting without effect": Case(
        "settings.ignored",
        W,
        given(CODEX_MCP_MODLE="x", **NO_CODEX),
        "did you mean CODEX_MCP_MODEL?",
        removed("CODEX_MCP_MODLE"),
    ),
    "a configuration that Codex refuses": Case(
        "config.toml",
        E,
        written(".codex/config.toml", 'approval_policy = "sometimes"\n', is_quick=False),
        "name a newer Codex as codex_version, or correct the setting",
        written(".codex/config.toml", 'approval_policy = "never"\n', is_quick=False),
    ),
    "a configuration that is no TOML": Case(
        "config.toml",
        E,
        written(".codex/config.toml", "model = ["),
        "correct ~/.codex/config.toml",
        written(".codex/config.toml", ""),
    ),
    "no bubblewrap": Case("sandbox.bubblewrap", W, no_bubblewrap, "install the package bubblewrap", undone),
    "a sandbox that does not work": Case(
        "sandbox",
        W,
        refusing('[ "$1" = sandbox ] && echo bwrap: no permissions >&2 && exit 1'),
        "",
        refusing(),
    ),
    "an unusable state folder": Case("folders.state_dir", E, state_in_a_file, "setting state_dir", no_flags),
    "a file in the place of Codex's folder": Case(
        "folders.codex_home",
        E,
        written(".codex", "", is_quick=False),
        "setting codex_home",
        lambda patient: (patient.home / ".codex").unlink(),
    ),
    "a full disk": Case("folders.codex_home", E, a_disk_with(2**20), "free some space", a_disk_with(2**35)),
    "a nearly full disk": Case("folders.codex_home", W, a_disk_with(2**29), "free some space", a_disk_with(2**35)),
    "a sign-in that others can read": Case(
        "folders.sign-in", W, a_sign_in_that_others_can_read, "chmod 600", Patient.follow_command
    ),
    "a damaged database": Case(
        "folders.state",
        E,
        written(".config/atm/codex-sessions/state.db", "no database" * 1000),
        "the first call to the next one sets it aside",
        the_first_call,
    ),
    "a database that cannot be used": Case(
        "folders.database", E, a_state_without_encryption, "add ?sslmode=verify-full", no_state
    ),
    "a lock": Case("folders.lock", W, a_held_lock, "end the process", released),
    "a client's file that cannot be read": Case(
        "clients.file", W, written(".cursor/mcp.json", "{"), "correct the file", written(".cursor/mcp.json", "{}")
    ),
    "a dead server": Case(
        "clients.old-server", E, written(".cursor/mcp.json", DEAD), "codex-mcp migrate", Patient.follow_command
    ),
    "a server that dies with the next update": Case(
        "clients.old-server",
        W,
        a_codex_on_path("0.153.4", with_entry=True),
        "codex-mcp migrate",
        Patient.follow_command,
    ),
    "a program that was moved": Case(
        "clients.program",
        E,
        written(".cursor/mcp.json", entry("/gone/codex-mcp", "mcp-server")),
        f"change its command to {PROGRAM}",
        written(".cursor/mcp.json", entry(PROGRAM, "mcp-server")),
    ),
    "an address where nothing answers": Case(
        "clients.address", E, an_address_where_nothing_answers, "start the server", Patient.follow_command
    ),
    "a plugin and an entry with the same server": Case(
        "clients.twice", W, a_plugin_and_an_entry, "or remove the plugin", Patient.follow_command
    ),
    "a client that gives up early": Case(
        "clients.timeout",
        W,
        written(".gemini/settings.json", entry(PROGRAM, "mcp-server", timeout=60_000)),
        "add the flag --soft-deadline with fewer seconds",
        written(".gemini/settings.json", entry(PROGRAM, "mcp-server", "--soft-deadline", "45", timeout=60_000)),
    ),
    "a variable that makes Claude Code give up": Case(
        "clients.timeout",
        W,
        given(MCP_TOOL_TIMEOUT="60000", **NO_CODEX),
        "set it to 3600000",
        given(MCP_TOOL_TIMEOUT="3600000"),
    ),
    "a port in use": Case("port", W, a_port_in_use, "stop what uses it", released),
    "agents that cannot be read": Case("agents", E, state_in_a_file, "check its permissions", no_flags),
    "stale agents": Case("agents", W, stale_agents, "--prune --older-than 0", Patient.follow_command),
    "an account at its limit": Case(
        "agents.account",
        W,
        an_account_at_its_limit,
        "with `when-limited: try`",
        lambda patient: patient.tries(),
    ),
    "a turn that fails": Case(
        "turn",
        E,
        refusing("case $HOME in */codex-mcp/scratch/*) exit 1;; esac", flags=("--turn",)),
        "correct the findings above first",
        refusing(flags=("--turn",)),
    ),
}


def problems(patient: Patient, capfd: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """Run doctor in this process; return the warnings and errors by the names of their checks."""
    parser = Parser("codex-mcp doctor")
    cmd_doctor.configure(parser)
    capfd.readouterr()
    code = cmd_doctor.run(parser.read(["--json", *patient.flags]), patient.environment, str(patient.home))
    said = capfd.readouterr()
    document = json.loads(said.out)
    found = [check for check in document["checks"] if check["level"] != "ok"]
    errors = sum(check["level"] == "error" for check in found)
    assert (document["schema"], document["errors"], code) == (1, errors, int(errors > 0))
    assert (all(check["fix"] for check in found), str(patient.home) in said.out, said.err) == (True, False, "")
    return {check["check"]: check for check in found}


@pytest.mark.parametrize("name", CASES)
def test_a_problem_is_reported_and_its_advice_removes_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    with contextlib.ExitStack() as held:
        patient = Patient(tmp_path, monkeypatch, held)
        case.produce(patient)
        found = problems(patient, capfd)[case.check]
        assert (found["level"], case.advice in found["fix"]) == (case.level.name.lower(), True), found
        patient.fix = found["fix"]
        case.follow(patient)
        assert case.check not in problems(patient, capfd)


def test_every_problem_that_doctor_can_report_is_made_and_removed() -> None:
    made = {(case.check, case.level.name) for case in CASES.values()}
    assert reportable() <= made
    assert {check for check, _ in made - reportable()} <= {"folders.state_dir"}  # as codex_home, another setting
