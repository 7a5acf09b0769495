import json
import signal
import subprocess
from pathlib import Path

import pytest

from codex_mcp.team.records.audit import Audit
from codex_mcp.team.records.audit_entry import AuditEntry
from tests.support.servers.commands import PROGRAM, command
from tests.support.state.agents import state_folder_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return state_folder_of(tmp_path)


def entry(number: int, identity: str = "alice") -> AuditEntry:
    return AuditEntry(
        timestamp=f"2026-11-15T10:00:{number:02}.000Z",
        event="codex",
        outcome="ok",
        identity=identity,
        codex_id=f"codex:{number}",
        what="\x1b[2Jmend it",
    )


def written(folder: Path, *entries: AuditEntry) -> None:
    audit = Audit(str(folder))
    for one in entries:
        audit.append(one)
    audit.close()


def test_the_latest_entries_are_shown_the_latest_last(tmp_path: Path, folder: Path) -> None:
    written(folder, *map(entry, range(5)))
    told = command(tmp_path, "audit", "--limit", "2")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines()[0].split() == ["TIME", "OUTCOME", "EVENT", "IDENTITY", "TOOK", "WHAT"]
    assert [line.split()[:4] for line in told.stdout.splitlines()[1:]] == [
        ["2026-11-15T10:00:03.000Z", "ok", "codex", "alice"],
        ["2026-11-15T10:00:04.000Z", "ok", "codex", "alice"],
    ]
    assert "\x1b" not in told.stdout


def test_without_a_state_nothing_is_shown_and_nothing_made(tmp_path: Path) -> None:
    told = command(tmp_path, "audit")
    assert (told.returncode, len(told.stdout.splitlines()), told.stderr) == (0, 1, "")
    assert list(tmp_path.iterdir()) == []


def test_filters_and_json(tmp_path: Path, folder: Path) -> None:
    written(folder, entry(1), entry(2, "bob"), entry(3, "bob"))
    bobs = json.loads(command(tmp_path, "audit", "--identity", "bob", "--json").stdout)
    assert (bobs["schema"], [one["codex_id"] for one in bobs["entries"]]) == (1, ["codex:2", "codex:3"])
    one = json.loads(command(tmp_path, "audit", "--codex-id", "codex:1", "--json").stdout)
    assert [found["identity"] for found in one["entries"]] == ["alice"]


@pytest.mark.parametrize("flags", [("--json",), ()])
def test_following_tells_each_entry_once_until_it_is_interrupted(
    tmp_path: Path, folder: Path, flags: tuple[str, ...]
) -> None:
    written(folder, entry(1))
    argv = [PROGRAM, "audit", "--follow", "--identity", "alice", *flags]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment, cwd=tmp_path, text=True) as process:
        assert process.stdout is not None
        while "10:00:01" not in process.stdout.readline():
            pass  # the title comes first
        written(folder, entry(2, "bob"), entry(3))
        assert "10:00:03" in process.stdout.readline()
        written(folder, entry(4))
        assert "10:00:04" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize("limit", ["-1", "many"])
def test_what_is_no_number_is_refused(tmp_path: Path, limit: str) -> None:
    told = command(tmp_path, "audit", f"--limit={limit}")
    assert told.returncode == 2
    assert f"argument --limit: cannot use '{limit}': it must be a whole number" in told.stderr
