"""How codex-mcp is updated, by how it was installed."""

from pathlib import Path

import pytest

from codex_mcp.cli.cmd_update import Folder, Source, update_command
from tests.support.servers.commands import command

INDEX = Source()
CLONE = Source("file:///home/mira/my%20clone", Folder())
EDITABLE = Source("file:///home/mira/clone", Folder(editable=True))
WHEEL = Source("file:///tmp/codex_mcp-1.0-py3-none-any.whl", archive_info={})
GIT = Source("https://example.org/codex-mcp.git", vcs_info={})
PIP = "/venv/bin/python -m pip install"


@pytest.mark.parametrize(
    ("left", "source", "words"),
    [
        ("", INDEX, f"{PIP} --upgrade codex-mcp"),
        ("", WHEEL, f"{PIP} FILE"),
        ("", GIT, f"{PIP} --upgrade git+https://example.org/codex-mcp.git"),
        ("", CLONE, f"git -C '/home/mira/my clone' pull && {PIP} '/home/mira/my clone'"),
        ("", EDITABLE, "git -C /home/mira/clone pull && make -C /home/mira/clone setup"),
        ("uv-receipt.toml", INDEX, "uv tool upgrade codex-mcp"),
        ("uv-receipt.toml", GIT, "uv tool upgrade codex-mcp"),
        ("uv-receipt.toml", WHEEL, "uv tool install --reinstall FILE"),
        (
            "uv-receipt.toml",
            CLONE,
            "git -C '/home/mira/my clone' pull && uv tool install --reinstall '/home/mira/my clone'",
        ),
        ("pipx_metadata.json", INDEX, "pipx upgrade codex-mcp"),
        ("pipx_metadata.json", WHEEL, "pipx install --force FILE"),
        (
            "pipx_metadata.json",
            CLONE,
            "git -C '/home/mira/my clone' pull && pipx install --force '/home/mira/my clone'",
        ),
    ],
)
def test_each_installer_has_its_command(tmp_path: Path, left: str, source: Source, words: str) -> None:
    if left:
        (tmp_path / left).touch()
    assert update_command(tmp_path, "/venv/bin/python", source) == words


def test_homebrew_has_a_cellar(tmp_path: Path) -> None:
    assert update_command(tmp_path / "Cellar/codex-mcp/1.0", "python", INDEX) == "brew upgrade codex-mcp"


def test_a_checkout_is_updated_by_git_and_make(tmp_path: Path) -> None:
    told = command(tmp_path, "update")
    assert told.returncode == 0
    root = Path(__file__).parents[2]
    assert f"git -C {root} pull && make -C {root} setup" in told.stdout
    assert "restart your MCP clients" in told.stdout
