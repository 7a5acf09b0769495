"""No secret is in our files, and no repository makes us run its programs."""

import subprocess
from pathlib import Path

from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.team_server import TeamServer, refusal, say

KEY = "sk-proj-0123456789abcdefABCDEF"
TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ"
PASSWORD = "correct-horse-battery"
SECRETS = (KEY, TOKEN, PASSWORD)


def written_by(server: TeamServer) -> dict[str, bytes]:
    """Every file that the server wrote: its state, its log."""
    files = [*server.state_dir.rglob("*"), *(server.setup.codex_home / "log").glob("codex-rmcp.log*")]
    return {str(path.relative_to(server.setup.folder)): path.read_bytes() for path in files if path.is_file()}


@requirement("NFR-3")
async def test_no_secret_is_in_the_log_the_audit_or_the_registry(team: Team) -> None:
    environment = {"OPENAI_API_KEY": KEY, "GITHUB_TOKEN": TOKEN}
    async with team("--log-level", "trace", environment=environment) as (server, _model):
        told = f"Use OPENAI_API_KEY={KEY} and {TOKEN}; password: {PASSWORD}"
        setup = {
            "config": {"shell_environment_policy.set": {"SHOP_API_KEY": PASSWORD}},
            "tag": f"api_key={PASSWORD}",
        }
        agent = await server.start(f"{told} {say('Done.')}", identity="arch", **setup)
        failing = f'[[scene: fail message="{told}"]]'
        refusal(await server.run("codex-reply", {"codex_id": agent["codex_id"], "prompt": failing}))
        refusal(await server.run("codex", {"prompt": "x", "identity": "arch", "tag": KEY}))
        refusal(await server.run("codex", {"prompt": "x", "agent_file": f"no/{KEY}.md"}))
        await server.threads()
        await server.close_agent("arch")
    written = written_by(server)
    assert {"registry.json", "audit.jsonl", "state.db", "codex-rmcp.log"} <= {Path(name).name for name in written}
    found = [(name, secret) for name, data in written.items() for secret in SECRETS if secret.encode() in data]
    assert found == []


SHAPES = {
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "slack": "xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
    "gitlab": "glpat-abcdefghij0123456789",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "stripe": "sk_live_0123456789abcdef",
}
"""Secrets that only their form gives away."""


def make_repository(folder: Path, *, branch: str) -> None:
    """An empty repository on this branch."""
    subprocess.run(["git", "init", "-q", "-b", branch, str(folder)], check=True)


@requirement("NFR-3")
async def test_no_secret_is_in_a_file_wherever_a_caller_puts_it(team: Team, tmp_path: Path) -> None:
    aws, slack, gitlab, google, stripe = SHAPES.values()
    folder = tmp_path / f"checkout-{gitlab}"
    make_repository(folder, branch=f"fix/{google}")
    async with team() as (server, _model):
        instructions = f"Log in at https://{stripe}@shop.example,\nwith\t{aws}"
        call = {"prompt": f"Deploy.\n{slack}\n{say('Done.')}", "cwd": str(folder), "identity": "arch", "tag": slack}
        await server.result(
            server.call("codex", {**call, "developer-instructions": instructions}, request_id=f"call\n{gitlab}")
        )
        refusal(await server.run("codex", {"prompt": "x", "cwd": f"no/{aws}"}))
        await server.close_agent("arch")
    written = {Path(name).name: data for name, data in written_by(server).items()}
    found = {(name, shape) for shape, secret in SHAPES.items() for name in written if secret.encode() in written[name]}
    # The store holds the folder and the branch as they are: an agent is brought back in this very folder.
    assert {each for each in found if not each[0].startswith("state.db")} == set()
    assert {shape for _name, shape in found} <= {"gitlab", "google"}
    assert written["registry.json"].count(b"****") >= 3


@requirement("NFR-3")
async def test_no_secret_is_on_stderr_as_long_as_nobody_asks_for_more_than_warnings(team: Team) -> None:
    async with team() as (server, _model):
        told = f"Use OPENAI_API_KEY={KEY} and {TOKEN}; password: {PASSWORD}"
        agent = await server.start(f"{told} {say('Done.')}", identity="arch", tag=told)
        failing = f'[[scene: fail message="{told}"]]'
        refusal(await server.run("codex-reply", {"codex_id": agent["codex_id"], "prompt": failing}))
        refusal(await server.run("codex", {"prompt": told, "identity": told}))
        refusal(await server.run("codex", {"prompt": told, "cwd": told}))
        await server.close_agent("arch")
        await server.start(f"{told} {say('Again.')}", codex_id=agent["codex_id"])
        server.close_stdin()
        assert await server.exit_code() == 0
    assert "WARNING" in server.stderr
    assert [secret for secret in SECRETS if secret in server.stderr] == []


@requirement("NFR-3")
async def test_what_the_server_writes_is_for_its_owner_alone(team: Team) -> None:
    async with team() as (server, _model):
        await server.start(say("hi"), identity="arch")
    for path in [server.state_dir, *server.state_dir.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@requirement("NFR-3")
async def test_no_argument_is_run_by_a_shell(team: Team) -> None:
    async with team() as (server, _model):
        work = server.setup.work
        evil = f"$(touch {work}/pwned); `touch {work}/pwned`; touch {work}/pwned #"
        for arguments in (
            {"prompt": say("hi"), "identity": evil},
            {"prompt": say("hi"), "cwd": evil},
            {"prompt": say("hi"), "role": evil},
            {"agent_file": evil},
            {"codex_id": evil},
        ):
            refusal(await server.run("codex", arguments))
        refusal(await server.run("codex_close", {"identity": evil}))
        refusal(await server.run("codex-reply", {"identity": evil, "prompt": "x"}))
        assert (await server.start(say("hi"), tag=evil, request_id=evil))["status"] == "completed"
        assert not (work / "pwned").exists()


@requirement("NFR-3")
async def test_no_name_leads_out_of_the_state_folder(team: Team) -> None:
    async with team() as (server, model):
        for name in ("..", "../../escaped", "/escaped", "a/b", ".", "arch\0"):
            refusal(await server.run("codex", {"prompt": say("hi"), "identity": name}))
        assert not model.requests
    assert not list(server.setup.folder.rglob("escaped*"))
