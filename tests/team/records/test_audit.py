"""The audit in a real folder, with several writers."""

import logging
import os
import resource
import signal
import stat
import threading
from pathlib import Path

import msgspec
import pytest

from codex_mcp.base.locks import flocked
from codex_mcp.team.records import audit
from codex_mcp.team.records.audit import Audit, read_audit
from codex_mcp.team.records.audit_entry import AuditEntry, AuditOutcome, line_of
from tests.support.patience import PATIENCE


class Bell(logging.Handler):
    """Rings when something is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.rung = threading.Event()

    def emit(self, _: logging.LogRecord) -> None:
        self.rung.set()


def entry(number: int = 0, **fields: object) -> AuditEntry:
    plain = AuditEntry(
        timestamp="2026-11-15T10:00:00.000Z", event="codex", outcome=AuditOutcome.OK, what=f"prompt {number}"
    )
    return msgspec.structs.replace(plain, **fields)


def write(folder: Path, *entries: AuditEntry, max_bytes: int = audit.MAX_BYTES) -> None:
    writer = Audit(str(folder), max_bytes=max_bytes)
    for each in entries:
        writer.append(each)
    writer.close()


def test_what_was_appended_is_there_after_closing_and_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    entries = [entry(number) for number in range(50)]
    write(folder, *entries)
    assert read_audit(str(folder)) == entries
    assert stat.S_IMODE((folder / "audit.jsonl").stat().st_mode) == 0o600


def test_nothing_appended_makes_nothing_and_closing_twice_is_fine(tmp_path: Path) -> None:
    writer = Audit(str(tmp_path))
    writer.close()
    writer.close()
    assert os.listdir(tmp_path) == []
    assert read_audit(str(tmp_path)) == []


def test_what_comes_after_closing_is_lost_and_said_to_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = Audit(str(tmp_path))
    writer.close()
    writer.append(entry())
    writer.close()
    assert os.listdir(tmp_path) == []
    assert "1 entries of the audit" in caplog.text


def test_one_reads_the_latest_of_an_identity_or_an_agent(tmp_path: Path) -> None:
    entries = [entry(number, identity=f"a{number % 2}", codex_id=f"codex:{number % 3}") for number in range(30)]
    write(tmp_path, *entries)
    folder = str(tmp_path)
    assert read_audit(folder, limit=3) == entries[-3:]
    assert read_audit(folder, identity="a1", limit=2) == [entries[27], entries[29]]
    assert read_audit(folder, codex_id="codex:0") == entries[::3]
    assert read_audit(folder, identity="a0", codex_id="codex:0") == entries[::6]
    assert read_audit(folder, identity="nobody") == []
    assert read_audit(folder, limit=0) == []


def test_it_is_set_aside_when_it_is_long_and_the_oldest_go(tmp_path: Path) -> None:
    entries = [entry(number) for number in range(200)]
    size = len(line_of(entries[0])) * 10
    write(tmp_path, *entries, max_bytes=size)
    names = sorted(os.listdir(tmp_path))
    assert names == ["audit.jsonl", *(f"audit.jsonl.{number}" for number in range(1, audit.FILES))]
    assert all((tmp_path / name).stat().st_size <= 2 * size for name in names)
    kept = read_audit(str(tmp_path), limit=1000)
    assert kept == entries[-len(kept) :]
    assert 30 <= len(kept) < 200


def test_a_torn_last_line_costs_itself_alone(tmp_path: Path) -> None:
    write(tmp_path, entry(1))
    with open(tmp_path / "audit.jsonl", "ab") as file:
        file.write(line_of(entry(2))[:20])
    assert read_audit(str(tmp_path)) == [entry(1)]
    write(tmp_path, entry(3))
    assert read_audit(str(tmp_path)) == [entry(1), entry(3)]


def test_several_servers_append_and_set_aside_without_losing_or_mixing_lines(tmp_path: Path) -> None:
    start = threading.Barrier(4)
    size = len(line_of(entry(0, identity="s0"))) * 100

    def serve(name: str) -> None:
        writer = Audit(str(tmp_path), max_bytes=size)
        start.wait()
        for number in range(90):
            writer.append(entry(number, identity=name))
        writer.close()

    servers = [threading.Thread(target=serve, args=(f"s{index}",)) for index in range(4)]
    for server in servers:
        server.start()
    for server in servers:
        server.join()
    for index in range(4):
        mine = read_audit(str(tmp_path), identity=f"s{index}", limit=1000)
        assert mine == [entry(number, identity=f"s{index}") for number in range(90)]


def test_a_server_that_hangs_with_the_lock_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "LOCK_PATIENCE", 0.02)
    write(tmp_path, entry(1))
    descriptor = os.open(tmp_path / "audit.jsonl", os.O_RDWR)
    with flocked(descriptor, 0):
        write(tmp_path, entry(2), max_bytes=10)
    os.close(descriptor)
    assert read_audit(str(tmp_path)) == [entry(1), entry(2)]
    assert os.listdir(tmp_path) == ["audit.jsonl"]


def test_too_many_that_wait_are_dropped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_WAITING", 3)
    writer = Audit(str(tmp_path))
    (tmp_path / "audit.jsonl").touch()
    descriptor = os.open(tmp_path / "audit.jsonl", os.O_RDWR)
    with flocked(descriptor, 0):  # the thread waits for it with at most the first three entries in hand
        for number in range(10):
            writer.append(entry(number))
    os.close(descriptor)
    writer.close()
    read = read_audit(str(tmp_path))
    notes = [(each.error or "").partition(" entries were dropped") for each in read if each.event == "audit_dropped"]
    kept = [each for each in read if each.event == "codex"]
    assert sum(int(count) for count, _, _ in notes) == 10 - len(kept) > 0
    assert kept[:3] == [entry(0), entry(1), entry(2)]


async def test_whoever_waits_for_an_entry_goes_on_when_it_is_in_the_file(tmp_path: Path) -> None:
    writer = Audit(str(tmp_path))
    await writer.flush()  # there is none
    for number in range(3):
        writer.append(entry(number))
        await writer.flush()
        assert len(read_audit(str(tmp_path))) == number + 1
    writer.close()
    await writer.flush()


async def test_no_call_waits_for_a_disk_that_fails_and_only_one_for_a_disk_that_is_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_bytes(b"a file where the folder should be")
    broken = Audit(str(tmp_path / "state"))
    broken.append(entry(1))
    await broken.flush()
    broken.close()
    monkeypatch.setattr(audit, "WRITE_PATIENCE", 0.01)
    monkeypatch.setattr(audit, "LOCK_PATIENCE", 30)
    (tmp_path / "audit.jsonl").touch()
    descriptor = os.open(tmp_path / "audit.jsonl", os.O_RDWR)
    writer = Audit(str(tmp_path))
    with flocked(descriptor, 0):
        writer.append(entry(1))
        await writer.flush()
        monkeypatch.setattr(audit, "WRITE_PATIENCE", 3600)
        writer.append(entry(2))
        await writer.flush()
        assert read_audit(str(tmp_path)) == []
    os.close(descriptor)
    writer.close()
    assert read_audit(str(tmp_path)) == [entry(1), entry(2)]


def test_an_audit_that_is_a_pipe_costs_lines_and_nobody_waits_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.mkfifo(tmp_path / "audit.jsonl")
    write(tmp_path, *map(entry, range(5)))
    assert "it is not a regular file" in caplog.text
    with pytest.raises(OSError, match="not a regular file"):
        read_audit(str(tmp_path))


def test_a_folder_that_cannot_be_written_costs_lines_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_bytes(b"a file where the folder should be")
    write(tmp_path / "state", entry(1), entry(2))
    assert caplog.text.count("cannot write the audit") == 1
    assert "2 entries of the audit" in caplog.text


def test_entries_wait_until_the_disk_has_room_again(tmp_path: Path) -> None:
    """A full disk, as the kernel shows it for files that may not grow: first a short write, then an error."""
    line = len(line_of(entry(1)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writer = Audit(str(tmp_path))
    bell = Bell()
    audit.logger.addHandler(bell)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (line + line // 2, before[1]))
        for number in range(1, 4):
            writer.append(entry(number))
        assert bell.rung.wait(PATIENCE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
        audit.logger.removeHandler(bell)
    writer.append(entry(4))
    writer.close()
    assert read_audit(str(tmp_path)) == [entry(number) for number in range(1, 5)]


def test_a_file_that_is_set_aside_while_one_reads_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, entry(1), entry(2))
    os.link(tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1")
    assert read_audit(str(tmp_path)) == [entry(1), entry(2)]
