"""A cloned repository brings links in the place of clients' files; nothing outside of the project is written."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from codex_mcp.base.errors import Explained
from codex_mcp.cli.clients.config_files import target_of, write_config
from codex_mcp.cli.clients.known import CLIENTS, Scope
from codex_mcp.cli.clients.surroundings import folders_here
from tests.support.clients.home import World

SHARED = [client.name for client in CLIENTS.values() if Scope.PROJECT in client.scopes()]


def dead(client: str) -> bytes:
    """A file of this client that starts an old server."""
    if client == "codex":
        return b'[mcp_servers.codex]\ncommand = "codex"\nargs = ["mcp-server"]\n'
    return json.dumps({CLIENTS[client].key: {"codex": {"command": "codex", "args": ["mcp-server"]}}}).encode()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def refuses(world: World, command: str, *words: str) -> bool:
    try:
        return world.run(command, *words) != 0
    except Explained:
        return True


def victims(world: World) -> Mapping[str, bytes]:
    """What is outside of the project, but for our own folder."""
    return {
        name: data
        for name, data in world.files().items()
        if not name.startswith((f"{world.project.name}/", ".codex/codex-mcp/"))
    }


@pytest.mark.parametrize("command", ["install", "migrate"])
def test_no_link_of_a_project_leads_a_write_into_its_git_folder(world: World, command: str) -> None:
    config = world.project / ".git/config"
    config.parent.mkdir()
    config.write_bytes(dead("codex"))
    link = world.file("codex", Scope.PROJECT)
    link.parent.mkdir()
    link.symlink_to("../.git/config")
    words = ["--yes"] if command == "migrate" else ["codex", "--scope", "project"]
    assert refuses(world, command, *words)
    assert config.read_bytes() == dead("codex")


@pytest.mark.parametrize("client", SHARED)
@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("is_folder", [True, False])
def test_no_link_of_a_project_leads_a_write_out_of_it(
    world: World, client: str, *, is_there: bool, is_folder: bool
) -> None:
    file = world.file(client, Scope.PROJECT)
    secrets = world.home / ".ssh"
    secrets.mkdir()
    victim = secrets / file.name
    if is_there:
        victim.write_bytes(dead(client))
    link, leads_to = (file.parent, secrets) if is_folder and file.parent != world.project else (file, victim)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(leads_to)
    before = victims(world)
    assert refuses(world, "install", client, "--scope", "project", "--force")
    assert refuses(world, "uninstall", client, "--scope", "project", "--force")
    world.run("migrate", "--yes")
    assert victims(world) == before


@pytest.mark.parametrize("client", SHARED)
def test_a_link_within_the_project_stays_and_its_file_is_changed(world: World, client: str) -> None:
    file = world.file(client, Scope.PROJECT)
    file.parent.mkdir(parents=True, exist_ok=True)
    (world.project / "real").write_bytes(b"")
    file.symlink_to(os.path.relpath(world.project / "real", file.parent))
    assert world.run("install", client, "--scope", "project") == 0
    assert file.is_symlink()
    assert b"codex-mcp" in (world.project / "real").read_bytes()


def test_a_folder_that_becomes_a_link_after_the_look_is_not_followed(world: World) -> None:
    (world.home / ".ssh").mkdir()
    (world.project / ".cursor").mkdir()
    target = target_of(world.place("cursor", Scope.PROJECT), folders_here(world.environment, str(world.project)))
    (world.project / ".cursor").rmdir()
    (world.project / ".cursor").symlink_to(world.home / ".ssh")
    with pytest.raises(Explained, match="cannot write"):
        write_config(target, b"{}")
    assert victims(world) == {}


def test_the_project_gets_the_file_and_nothing_beside_it(world: World) -> None:
    file = world.file("claude", Scope.PROJECT)
    file.write_bytes(dead("claude"))
    world.run("migrate", "--yes")
    world.run("install", "cursor", "--scope", "project")
    assert sorted(path.name for path in world.project.rglob("*") if path.is_file()) == [".mcp.json", "mcp.json"]


@pytest.mark.parametrize("leads_to", ["/dev/zero", None])
def test_a_file_that_never_ends_is_not_read(world: World, leads_to: str | None) -> None:
    file = world.file("claude", Scope.PROJECT)
    if leads_to is None:
        os.mkfifo(file)
    else:
        file.symlink_to(leads_to)
    assert refuses(world, "install", "claude", "--scope", "project", "--dry-run")
    assert world.run("migrate", "--yes") == 1


def test_a_backup_is_private_and_never_follows_a_link(world: World) -> None:
    file = world.file("cursor")
    file.parent.mkdir()
    file.write_bytes(b'{"mine": 1}')
    file.chmod(0o644)
    world.run("install", "cursor")
    (backup,) = (world.home / ".codex/codex-mcp/backups").iterdir()
    assert (backup.read_bytes(), stat.S_IMODE(backup.stat().st_mode)) == (b'{"mine": 1}', 0o600)
    world.run("uninstall", "cursor")
    (world.home / ".bashrc").write_text("mine\n")
    backup.symlink_to(world.home / ".bashrc")
    world.run("install", "cursor")
    assert (world.home / ".bashrc").read_text() == "mine\n"
    assert (backup.is_symlink(), backup.read_bytes()) == (False, b'{"mine": 1}')
