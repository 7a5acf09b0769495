"""What is remembered about entries."""

from pathlib import Path

import pytest

from codex_mcp.cli.clients.known import Folders
from codex_mcp.cli.clients.own_folder.lock import one_at_a_time
from codex_mcp.cli.clients.own_folder.records import Installed, Records
from codex_mcp.cli.clients.surroundings import folders


@pytest.fixture
def where(tmp_path: Path) -> Folders:
    return folders({}, home=str(tmp_path), project=str(tmp_path), repository=str(tmp_path), is_macos=False)


def test_records_of_different_entries_are_kept_apart(where: Folders) -> None:
    records = Records(where)
    first = Installed("/a", ["mcpServers", "codex"], "http://127.0.0.1:1/mcp")
    second = Installed("/a", ["mcpServers", "other"], None, {"command": "theirs"})
    with one_at_a_time(where):
        records.remember(first)
        records.remember(second)
    assert records.of("/a", ("mcpServers", "codex")) == first
    assert records.of("/a", ("mcpServers", "other")) == second
    assert records.of("/b", ("mcpServers", "codex")) == Installed("/b", ["mcpServers", "codex"])


def test_without_records_there_is_no_file(where: Folders, tmp_path: Path) -> None:
    records = Records(where)
    with one_at_a_time(where):
        records.remember(Installed("/a", ["x"], "http://127.0.0.1:1/mcp"))
        records.forget("/a", ["x"])
        records.forget("/a", ["y"])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_damaged_file_is_as_good_as_none(where: Folders, tmp_path: Path) -> None:
    with one_at_a_time(where):
        (tmp_path / ".codex/codex-mcp/installed.json").write_bytes(b"\xff{")
        record = Installed("/a", ["x"], "http://127.0.0.1:1/mcp")
        assert Records(where).of("/a", ["x"]).url is None
        Records(where).remember(record)
    assert Records(where).of("/a", ["x"]) == record
