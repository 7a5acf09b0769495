"""`install` and `uninstall` on real files, in a home folder of their own."""

import os
import random
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.cli.clients.config_text.documents import read, with_entry
from codex_mcp.cli.clients.config_text.values import at, without
from codex_mcp.cli.clients.editing import current
from codex_mcp.cli.clients.entries import words_of
from codex_mcp.cli.clients.known import CLIENTS, Scope
from tests.support.clients.config_texts import file_of, is_only_added_to, randoms
from tests.support.clients.home import World

PLACES = [(client.name, scope) for client in CLIENTS.values() for scope in client.scopes()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


def random_file(scratch: Path, client: str, scope: Scope, rng: random.Random) -> tuple[World, Path, Path]:
    """A home in which the client has some file, perhaps behind a link; the file and what it leads to."""
    world = World(Path(tempfile.mkdtemp(dir=scratch)))
    file = world.file(client, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    real = file.parent / "real" if rng.random() < 0.3 else file
    real.write_bytes(file_of(rng, world.place(client, scope)))
    real.chmod(0o640)
    if real != file:
        file.symlink_to(real.name)
    return world, file, real


@pytest.mark.parametrize(("client", "scope"), PLACES)
@given(rng=randoms)
@settings(max_examples=10)
def test_uninstall_restores_any_file(scratch: Path, client: str, scope: Scope, rng: random.Random) -> None:
    world, file, real = random_file(scratch, client, scope, rng)
    before = world.files()
    words = [client, "--scope", scope, "--name", "ours"]
    assert world.run("install", *words) == 0
    assert at(current(world.place(client, scope))[1], (*world.place(client, scope).path, "ours"))
    assert is_only_added_to(before[str(real.relative_to(world.home))], real.read_bytes())
    assert file.is_symlink() == (real != file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    if rng.random() < 0.3:
        assert world.run("install", *words, "--team") == 0
    assert world.run("uninstall", *words) == 0
    assert world.files() == before


@pytest.mark.parametrize(("client", "scope"), PLACES)
@given(rng=randoms)
@settings(max_examples=5)
def test_any_read_only_file_stays_as_it_is(scratch: Path, client: str, scope: Scope, rng: random.Random) -> None:
    world, file, real = random_file(scratch, client, scope, rng)
    original = world.files()
    for command in ("install", "uninstall"):
        before = world.files()
        real.chmod(0o440)
        with pytest.raises(Explained, match=r"it is read-only; run chmod u\+w on it"):
            world.run(command, client, "--scope", scope, "--name", "ours")
        assert world.files() == before
        file.chmod(0o640)
        assert world.run(command, client, "--scope", scope, "--name", "ours") == 0
    assert world.files() == original


@pytest.mark.parametrize(("client", "scope"), PLACES)
@given(rng=randoms)
@settings(max_examples=5)
def test_uninstall_keeps_what_others_added_to_any_file(
    scratch: Path, client: str, scope: Scope, rng: random.Random
) -> None:
    world, file, _ = random_file(scratch, client, scope, rng)
    here = world.place(client, scope)
    words = [client, "--scope", scope, "--name", "ours"]
    world.run("install", *words)
    file.write_bytes(with_entry(here.client.form, file.read_bytes(), (*here.path, "later"), {"command": "later"}))
    changed = file.read_bytes()
    assert world.run("uninstall", *words) == 0
    kept = file.read_bytes()
    assert is_only_added_to(kept, changed)
    assert read(here.client.form, kept) == without(read(here.client.form, changed), (*here.path, "ours"))


@pytest.mark.parametrize(("client", "scope"), PLACES)
def test_a_file_that_did_not_exist_is_gone_after_uninstall(world: World, client: str, scope: Scope) -> None:
    assert world.run("install", client, "--scope", scope) == 0
    assert world.file(client, scope).is_file()
    assert world.run("uninstall", client, "--scope", scope) == 0
    assert world.files() == {}
    left = {path.name for path in world.home.iterdir()}
    assert left <= {"shop", ".config", ".codex"}  # shared folders, and our own


def test_a_folder_with_something_else_in_it_stays(world: World) -> None:
    other = world.file("continue").with_name("other.json")
    assert world.run("install", "continue") == 0
    other.write_text("{}")
    assert world.run("uninstall", "continue") == 0
    assert other.exists()


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_a_file_that_was_changed_since_loses_only_our_entry(world: World, client: str) -> None:
    assert world.run("install", client) == 0
    assert world.run("install", client, "--name", "second", "--team") == 0
    here = world.place(client)
    before = current(here)[1]
    assert world.run("uninstall", client) == 0
    after = current(here)[1]
    assert at(after, (*here.path, "codex")) is None
    assert at(after, (*here.path, "second")) == at(before, (*here.path, "second"))


def test_two_servers_are_uninstalled_in_any_order(world: World) -> None:
    file = world.file("cursor")
    file.parent.mkdir()
    file.write_bytes(b'{"mcpServers": {"x": {"command": "y"}}}')
    for name in ("one", "two"):
        world.run("install", "cursor", "--name", name)
    world.run("uninstall", "cursor", "--name", "one")
    world.run("uninstall", "cursor", "--name", "two")
    assert file.read_bytes() == b'{"mcpServers": {"x": {"command": "y"}}}'


@pytest.mark.parametrize(("client", "scope"), PLACES)
def test_a_dry_run_shows_a_diff_and_changes_nothing(
    world: World, client: str, scope: Scope, capsys: pytest.CaptureFixture[str]
) -> None:
    assert world.run("install", client, "--scope", scope, "--dry-run") == 0
    assert world.files() == {}
    shown = capsys.readouterr().out
    assert shown.startswith("--- /dev/null\n+++ ~/")
    assert "/codex-mcp" in shown
    world.run("install", client, "--scope", scope)
    files = world.files()
    assert world.run("uninstall", client, "--scope", scope, "--dry-run") == 0
    assert world.files() == files


def test_a_diff_does_not_show_secrets(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    file = world.file("cursor")
    file.parent.mkdir()
    secret = "sk-proj-" + "a1B2" * 10
    file.write_text(
        f'{{\n  "mcpServers": {{\n    "x": {{"command": "y", "env": {{"OPENAI_API_KEY": "{secret}"}}}}\n  }}\n}}\n'
    )
    world.run("install", "cursor", "--dry-run")
    shown = capsys.readouterr().out
    assert "OPENAI_API_KEY" in shown
    assert secret not in shown


def test_the_entries_name_our_program_by_its_absolute_path_and_set_time_limits(world: World) -> None:
    for client in CLIENTS:
        world.run("install", client)
    entries = {name: at(current(world.place(name))[1], (*world.place(name).path, "codex")) for name in CLIENTS}
    commands = [words_of(entry) for entry in entries.values()]
    assert all(os.path.isabs(program) and args == ["mcp-server"] for program, *args in commands)
    assert at(entries["claude"], ("timeout",)) == 86_400_000
    assert (at(entries["codex"], ("tool_timeout_sec",)), at(entries["gemini"], ("timeout",))) == (3600, 3_600_000)
    limits = {name: at(entries[name], ("timeout",)) for name in ("opencode", "qwen", "copilot", "cline")}
    assert limits == {"opencode": 3_600_000, "qwen": 3_600_000, "copilot": 3_600_000, "cline": 3600}
    assert at(entries["codex"], ("supports_parallel_tool_calls",)) is True


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("claude", {"type": "http", "url": "http://127.0.0.1:1/mcp", "timeout": 86_400_000}),
        ("codex", {"url": "http://127.0.0.1:1/mcp", "tool_timeout_sec": 3600, "supports_parallel_tool_calls": True}),
        ("cursor", {"url": "http://127.0.0.1:1/mcp"}),
        ("vscode", {"type": "http", "url": "http://127.0.0.1:1/mcp"}),
        ("zed", {"url": "http://127.0.0.1:1/mcp"}),
        ("gemini", {"httpUrl": "http://127.0.0.1:1/mcp", "timeout": 3_600_000}),
        ("opencode", {"type": "remote", "url": "http://127.0.0.1:1/mcp", "timeout": 3_600_000}),
        ("qwen", {"httpUrl": "http://127.0.0.1:1/mcp", "timeout": 3_600_000}),
        ("copilot", {"type": "http", "url": "http://127.0.0.1:1/mcp", "tools": ["*"], "timeout": 3_600_000}),
        ("cline", {"type": "streamableHttp", "url": "http://127.0.0.1:1/mcp", "timeout": 3600}),
        ("inspector", {"type": "streamable-http", "url": "http://127.0.0.1:1/mcp", "requestTimeout": 3_600_000}),
    ],
)
def test_an_address_is_written_as_the_client_reads_it(world: World, client: str, expected: dict[str, object]) -> None:
    world.run("install", client, "--http", "http://127.0.0.1:1/mcp")
    here = world.place(client)
    assert at(current(here)[1], (*here.path, "codex")) == expected
    assert world.run("uninstall", client) == 0
    assert world.files() == {}


def test_an_entry_of_others_is_replaced_and_removed_only_by_force(world: World) -> None:
    file = world.file("cursor")
    file.parent.mkdir()
    file.write_bytes(b'{"mcpServers": {"codex": {"command": "y"}}}')
    for command in ("install", "uninstall"):
        with pytest.raises(Refused, match="--force"):
            world.run(command, "cursor")
    assert list(world.files()) == [".cursor/mcp.json"]
    assert world.run("install", "cursor", "--force") == 0
    assert world.run("uninstall", "cursor") == 0
    assert world.run("uninstall", "cursor", "--force") == 0
    assert file.read_bytes() == b'{"mcpServers": {}}'


def test_a_second_install_changes_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.run("install", "zed")
    files = world.files()
    assert world.run("install", "zed") == 0
    assert world.files() == files
    assert capsys.readouterr().out.endswith("already has the server codex: ~/.config/zed/settings.json is unchanged.\n")


def test_what_is_not_installed_cannot_be_removed(world: World) -> None:
    assert world.run("uninstall", "zed") == 3


@pytest.mark.parametrize(
    ("client", "text", "said"),
    [
        ("cursor", b'{\n  "mcpServers": {,}\n}', r"as JSON: line 2, column 18: a name in \"quotes\" or } was expected"),
        ("codex", b"[mcp_servers\n", r"as TOML: line 1, column 13: "),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_place(
    world: World, client: str, text: bytes, said: str
) -> None:
    file = world.file(client)
    file.parent.mkdir()
    file.write_bytes(text)
    with pytest.raises(Explained, match=said):
        world.run("install", client)
    assert list(world.files().values()) == [text]


def test_a_link_out_of_the_home_folder_is_not_followed(world: World) -> None:
    outside = world.home.parent / "outside.json"
    outside.write_text("{}")
    (world.project / ".mcp.json").symlink_to(outside)
    world.file("cursor").parent.symlink_to(world.home.parent)
    for words, folders in ((["claude", "--scope", "project"], ""), (["cursor"], "your home folder and of ")):
        with pytest.raises(Explained, match=f"which is outside of {folders}this project"):
            world.run("install", *words)
    assert sorted(path.name for path in world.home.parent.iterdir()) == ["home", "outside.json"]


def test_a_file_in_the_place_of_a_client_s_folder_is_a_sentence(world: World) -> None:
    (world.home / ".cursor").write_text("a file")
    with pytest.raises(Explained, match=r"cannot change .*: Not a directory; one of its folders is a file"):
        world.run("install", "cursor")
    assert (world.run("uninstall", "cursor"), world.run("migrate")) == (3, 0)
    assert (world.home / ".cursor").read_text() == "a file"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["desktop", "--http", "http://127.0.0.1:1/mcp"], "cannot use --http for Claude Desktop"),
        (["desktop", "--scope", "project"], "cannot use --scope project for Claude Desktop: it has only user"),
        (["zed", "--scope", "local"], "cannot use --scope local for Zed: it has only user or project"),
        (["zed", "--http", "127.0.0.1"], "it must be an address such as"),
        (["zed", "--http", "http://127.0.0.1:1/mcp", "--team"], "cannot use --team with --http"),
        (["zed", "--name", "a b"], "cannot use --name 'a b'"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(world: World, words: list[str], said: str) -> None:
    with pytest.raises(Refused, match=said):
        world.run("install", *words)
    assert world.files() == {}


def test_the_folders_that_the_environment_names_are_used(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    variables = {
        "CLAUDE_CONFIG_DIR": "claude",
        "CODEX_HOME": "codex",
        "XDG_CONFIG_HOME": "config",
        "GEMINI_CLI_HOME": "gemini",
        "MCP_CATALOG_PATH": "catalog.json",
    }
    world = World(tmp_path, {name: str(elsewhere / value) for name, value in variables.items()})
    for client in ("claude", "codex", "vscode", "zed", "gemini", "inspector"):
        world.run("install", client)
    written = {str(path.relative_to(elsewhere)) for path in elsewhere.rglob("*.*") if "backups" not in path.parts}
    assert {name for name in written if (elsewhere / name).is_file()} == {
        "claude/.claude.json",
        "codex/config.toml",
        "config/Code/User/mcp.json",
        "config/zed/settings.json",
        "gemini/.gemini/settings.json",
        "catalog.json",
    }
    assert world.files() == {}


def own_program(world: World, name: str, script: str) -> None:
    """A program of a client, on PATH."""
    path = Path(world.environment["PATH"]) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_link_stays_a_link_and_no_command_of_the_client_runs(world: World) -> None:
    own_program(world, "codex", 'rm "$HOME/.codex/config.toml"; echo "x = 1" > "$HOME/.codex/config.toml"')
    (world.home / "dotfiles.toml").write_text("model = 'x'\n")
    world.file("codex").parent.mkdir()
    world.file("codex").symlink_to("../dotfiles.toml")
    world.run("install", "codex")
    assert world.file("codex").is_symlink()
    assert (world.home / "dotfiles.toml").read_text().startswith("model = 'x'\n\n[mcp_servers.codex]\n")
