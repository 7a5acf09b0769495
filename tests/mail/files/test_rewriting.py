import os
import stat
import threading
import time
from pathlib import Path

import pytest

from codex_mcp.mail.files import versions
from codex_mcp.mail.files.locks import Locked
from codex_mcp.mail.files.rewriting import Rewrite, read_whole, rewrite
from codex_mcp.mail.files.versions import TooLarge, contents


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    return tmp_path / "bob.json"


def draft(inbox: Path) -> str:
    return f"{inbox}.tmp.x"


def add(data: bytes) -> Rewrite:
    return Rewrite(data + b"+")


def names(inbox: Path) -> set[str]:
    return {path.name for path in inbox.parent.iterdir()}


def test_a_new_file_is_private_and_an_old_one_keeps_its_permissions(inbox: Path) -> None:
    assert rewrite(str(inbox), draft(inbox), add)
    assert stat.S_IMODE(inbox.stat().st_mode) == 0o600
    inbox.chmod(0o640)
    assert rewrite(str(inbox), draft(inbox), add)
    assert stat.S_IMODE(inbox.stat().st_mode) == 0o640
    assert contents(str(inbox)) == b"++"
    assert names(inbox) == {"bob.json", "bob.lock"}


def test_nothing_to_change_changes_nothing(inbox: Path) -> None:
    inbox.write_bytes(b"x")
    before = inbox.stat()
    assert not rewrite(str(inbox), draft(inbox), lambda _: None)
    assert inbox.stat() == before
    assert contents(str(inbox.with_name("other.json"))) == b""


def test_a_file_that_a_holder_of_the_lock_has_cut_is_looked_at_again_under_the_locks(inbox: Path) -> None:
    os.mkdir(f"{inbox}.lock")
    inbox.write_bytes(b"")
    has_looked = threading.Event()

    def write() -> None:
        assert has_looked.wait(60)
        inbox.write_bytes(b"[1]")
        os.rmdir(f"{inbox}.lock")

    def change(data: bytes) -> Rewrite | None:
        has_looked.set()
        return None if data == b"" else Rewrite(b"[1, 2]")

    writer = threading.Thread(target=write)
    writer.start()
    assert rewrite(str(inbox), draft(inbox), change)
    writer.join()
    assert inbox.read_bytes() == b"[1, 2]"


def test_a_reader_waits_for_a_file_that_is_being_written_under_the_lock(inbox: Path) -> None:
    inbox.write_bytes(b"[1")
    os.mkdir(f"{inbox}.lock")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(read_whole(str(inbox))))
    reader.start()
    while reader.is_alive() and not inbox.with_suffix(".lock").exists():  # its first try for the locks
        time.sleep(0)
    inbox.write_bytes(b"[1, 2]")
    os.rmdir(f"{inbox}.lock")
    reader.join()
    assert found == [b"[1, 2]"]


def test_what_another_writer_wrote_between_our_read_and_the_locks_stays(inbox: Path) -> None:
    writes = iter([b"theirs", None, None])

    def change(data: bytes) -> Rewrite:
        if (theirs := next(writes)) is not None:
            inbox.write_bytes(theirs)
        return add(data)

    assert rewrite(str(inbox), draft(inbox), change)
    assert inbox.read_bytes() == b"theirs+"


def test_what_makes_our_change_needless_ends_it(inbox: Path) -> None:
    def change(data: bytes) -> Rewrite | None:
        if data == b"done":
            return None
        inbox.write_bytes(b"done")
        return add(data)

    assert not rewrite(str(inbox), draft(inbox), change)
    assert names(inbox) == {"bob.json", "bob.lock"}


def test_a_writer_that_never_stops_and_takes_no_lock_is_reported(inbox: Path) -> None:
    counter = iter(range(10**9))

    def change(data: bytes) -> Rewrite:
        inbox.write_bytes(str(next(counter)).encode())
        return add(data)

    with pytest.raises(Locked, match="keeps writing it without taking a lock"):
        rewrite(str(inbox), draft(inbox), change, patience=0)
    assert names(inbox) == {"bob.json", "bob.lock"}


def test_a_lock_that_is_lost_stops_the_write(inbox: Path) -> None:
    calls = iter(range(10))

    def change(data: bytes) -> Rewrite:
        if next(calls) == 0:
            inbox.write_bytes(b"theirs")
        else:
            os.rename(f"{inbox}.lock", f"{inbox}.stolen")
            os.mkdir(f"{inbox}.lock")
        return add(data)

    with pytest.raises(Locked):
        rewrite(str(inbox), draft(inbox), change, patience=0)
    assert inbox.read_bytes() == b"theirs"


def test_a_broken_file_is_kept_beside_its_repair(inbox: Path) -> None:
    inbox.write_bytes(b"broken")
    assert rewrite(str(inbox), draft(inbox), lambda _: Rewrite(b"[]", is_repair=True))
    (aside,) = inbox.parent.glob("bob.json.corrupt-*")
    assert (aside.read_bytes(), inbox.read_bytes()) == (b"broken", b"[]")


def test_a_file_that_was_being_written_is_not_taken_for_broken(inbox: Path) -> None:
    inbox.write_bytes(b"[")
    seen: list[bytes] = []

    def change(data: bytes) -> Rewrite:
        seen.append(data)
        if data == b"[":
            inbox.write_bytes(b"[1]")  # the writer finishes
            return Rewrite(b"[]", is_repair=True)
        return Rewrite(b"[1, 2]")

    assert rewrite(str(inbox), draft(inbox), change)
    assert seen == [b"[", b"[1]"]
    assert inbox.read_bytes() == b"[1, 2]"
    assert list(inbox.parent.glob("*.corrupt-*")) == []


def test_a_file_that_breaks_while_we_write_is_given_time(inbox: Path) -> None:
    inbox.write_bytes(b"[1]")
    texts = iter([b"[", None, None])

    def change(data: bytes) -> Rewrite:
        if (theirs := next(texts)) is not None:
            inbox.write_bytes(theirs)
        return Rewrite(b"[2]", is_repair=data == b"[")

    assert rewrite(str(inbox), draft(inbox), change)
    assert len(list(inbox.parent.glob("*.corrupt-*"))) == 1


def test_a_file_that_is_too_large_is_refused(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "LARGEST", 3)
    inbox.write_bytes(b"1234")
    with pytest.raises(TooLarge, match="it has 4 bytes, more than 3; move it away"):
        contents(str(inbox))


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("other"), os.mkfifo])
def test_what_is_no_file_is_refused(inbox: Path, make: object) -> None:
    assert callable(make)
    make(inbox)
    with pytest.raises(OSError, match=r"regular|directory|symbolic|Too many"):
        contents(str(inbox))
    with pytest.raises(OSError, match=r"regular|directory|symbolic|Too many"):
        rewrite(str(inbox), draft(inbox), add)
    assert names(inbox) == {"bob.json"}
