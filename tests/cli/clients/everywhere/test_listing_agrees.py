"""`install --list`, `doctor` and `migrate` say the same of every entry of every client: they ask one recogniser."""

import json
import shlex
from pathlib import Path

import pytest

from codex_mcp.cli.clients.entries import ONE_LIST
from codex_mcp.cli.clients.everywhere.entry import Entry
from codex_mcp.cli.clients.everywhere.reading import read_clients
from codex_mcp.cli.clients.known import CLIENTS, Scope
from codex_mcp.cli.clients.surroundings import folders_here
from codex_mcp.cli.doctor.client_checks import judge_clients
from codex_mcp.cli.doctor.facts import Clients
from tests.cli.clients.recognition.test_servers import MORE, THROUGH
from tests.support.clients.home import World

OURS = ["/gone/codex-mcp mcp-server", "/gone/codex-mcp serve --team x"]
OTHERS = ["npx -y something", "codex", "codex exec mcp-server", "sleep 9"]
LINES = [*THROUGH, *MORE, *OURS, *OTHERS]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def fill(world: World, client: str, scope: Scope) -> None:
    """Every line as a server of this client."""
    place = world.place(client, scope)
    shape = CLIENTS[client].shape
    servers: dict[str, dict[str, object]] = {}
    for number, line in enumerate(LINES):
        words = line.split() if line in MORE else shlex.split(line)
        entry: dict[str, object] = {"command": words} if shape is ONE_LIST else {"command": words[0], "args": words[1:]}
        servers[f"s{number}"] = entry
    file = Path(place.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".toml":
        tables = ("\n".join(f"{key} = {json.dumps(value)}" for key, value in each.items()) for each in servers.values())
        named = zip(servers, tables, strict=True)
        file.write_text("\n".join(f"[{place.path[0]}.{name}]\n{table}" for name, table in named))
    else:
        file.write_text(json.dumps({place.path[0]: servers}))


def of_list(world: World, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    assert world.run("install", "--list", "--json") == 0
    told: dict[str, str] = {}
    for each in json.loads(capsys.readouterr().out)["entries"]:
        state = str(each["state"])
        told[each["name"]] = (
            "ours"
            if " through " not in state and "an old server" not in state
            else ("old" if "codex-mcp migrate" in state else "buried")
        )
    return told


def of_doctor(world: World) -> dict[str, str]:
    where = folders_here(world.environment, str(world.project))
    told: dict[str, str] = {}
    for entry in (each for each in read_clients(where, world.environment) if isinstance(each, Entry)):
        (finding,) = judge_clients(Clients((entry,)))
        if finding.check != "clients" or "no client that we know" not in finding.text:
            is_old = finding.check == "clients.old-server"
            told[entry.name] = ("old" if "`codex-mcp migrate`" in str(finding.fix) else "buried") if is_old else "ours"
    return told


def of_migrate(world: World, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    world.run("migrate", "--json")
    document = json.loads(capsys.readouterr().out)
    old = {each["name"]: "old" for each in document["entries"]}
    return old | {each["name"]: "buried" for each in document["stuck"]}


@pytest.mark.parametrize(
    ("client", "scope"),
    [(client.name, scope) for client in CLIENTS.values() for scope in client.scopes() if scope is not Scope.LOCAL],
)
def test_they_agree(world: World, capsys: pytest.CaptureFixture[str], client: str, scope: Scope) -> None:
    fill(world, client, scope)
    listed = of_list(world, capsys)
    assert listed == of_doctor(world)
    migrated = of_migrate(world, capsys)
    assert {name: state for name, state in listed.items() if state != "ours"} == migrated
    expected = {f"s{number}": line for number, line in enumerate(LINES)}
    assert {expected[name] for name, state in listed.items() if state == "ours"} == {*OURS}
    assert {expected[name] for name in migrated} == {*THROUGH, *MORE}
