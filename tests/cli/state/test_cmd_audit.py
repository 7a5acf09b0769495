import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.cli.state.cmd_audit import OPTIONAL, TITLES, LineFollower, duration, row
from codex_mcp.cli.tables import cell_width, table
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


def test_a_row_says_when_who_did_what_and_what_came_of_it() -> None:
    entry = AuditEntry(
        timestamp="2026-11-15T10:00:00.000Z",
        event="codex",
        outcome="failed",
        identity="me",
        duration_ms=1500,
        what="mend it",
        error="no model",
    )
    assert row(entry) == ("2026-11-15T10:00:00.000Z", "failed", "codex", "me", "1.5 s", "no model · mend it")
    assert len(TITLES) == len(row(entry))


def test_what_does_not_apply_is_empty() -> None:
    assert row(AuditEntry(timestamp="t", event="e", outcome="ok")) == ("t", "ok", "e", "", "", "")


@pytest.mark.parametrize(
    ("milliseconds", "words"), [(0, "0 ms"), (999, "999 ms"), (59_940, "59.9 s"), (60_000, "1 min")]
)
def test_durations_have_one_unit(milliseconds: int, words: str) -> None:
    assert duration(milliseconds) == words


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_a_terminal_and_lines_that_come_later_stand_below_it(width: int) -> None:
    short = AuditEntry(timestamp="2026-11-15T10:00:00.000Z", event="codex", outcome="ok")
    long = AuditEntry(
        timestamp="2026-11-15T10:00:00.000Z",
        event="codex_approvals",
        outcome="interrupted",
        identity="a-reviewer-of-many-things",
        duration_ms=61_000,
        what="x" * 200,
    )
    tables = [table(TITLES, [row(entry)], width, whole=1, optional=OPTIONAL) for entry in (short, long)]
    assert all(cell_width(line) <= width for told in tables for line in told.splitlines())
    heads = [[title[:4] for title in told.splitlines()[0].split()] for told in tables]
    assert heads[0] == heads[1]
    assert {"TIME", "OUTC", "EVEN", "WHAT"} <= set(heads[0])


class NothingMore(Exception):
    """There is nothing to read for now."""


def pause() -> None:
    raise NothingMore


def lines_now(follower: LineFollower) -> list[bytes]:
    """What there is by now. Following never ends: two pauses in a row end it here."""
    found: list[bytes] = []
    for _ in range(2):
        with contextlib.suppress(NothingMore):
            for line in follower.lines(pause):
                found += [line]  # one by one: what came before the pause is kept
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def follower(path: Path) -> Iterator[LineFollower]:
    path.write_bytes(b"old\n")
    with contextlib.closing(LineFollower(str(path))) as follower:
        yield follower


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_appended_comes_in_whole_lines(follower: LineFollower, path: Path) -> None:
    assert lines_now(follower) == []
    append(path, b"one\ntw")
    assert lines_now(follower) == [b"one"]
    append(path, b"o\n")
    assert lines_now(follower) == [b"two"]


def test_a_file_that_is_set_aside_is_read_to_its_end_and_the_new_one_from_its_beginning(
    follower: LineFollower, path: Path
) -> None:
    append(path, b"last\n")
    os.replace(path, f"{path}.1")
    assert lines_now(follower) == [b"last"]
    append(path, b"first\n")
    assert lines_now(follower) == [b"first"]


def test_a_file_may_come_later(path: Path) -> None:
    with contextlib.closing(LineFollower(str(path))) as follower:
        assert lines_now(follower) == []
        append(path, b"one\n")
        assert lines_now(follower) == [b"one"]
        follower.close()
