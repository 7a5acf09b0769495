import contextlib
import errno
import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_mcp.base.files import is_named
from codex_mcp.mail.files import exchange
from codex_mcp.mail.files.exchange import Replacement, put_in_place
from codex_mcp.mail.files.placing import MOST_ROUNDS
from codex_mcp.mail.files.versions import Version
from tests.support.patience import PATIENCE


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "draft").write_bytes(b"ours")
    return tmp_path / "bob.json"


def names(inbox: Path) -> list[str]:
    return sorted(path.name for path in inbox.parent.iterdir())


def put(inbox: Path, base: Version) -> bool:
    def again(data: bytes, place: str) -> bytes:
        assert Path(place).read_bytes() == data
        return data + b" and ours"

    return put_in_place(Replacement(str(inbox.parent / "draft"), str(inbox), b"ours", base, again))


def written(inbox: Path, data: bytes) -> Version:
    inbox.write_bytes(data)
    return Version(data, inbox.stat())


class Meanwhile:
    """What other programs do after our last look, and after each exchange."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *actions: Callable[[], None]) -> None:
        self._left = list(actions)
        same, swap = exchange._is_same, exchange._exchange

        def looked(path: str, expected: os.stat_result) -> bool:
            found = same(path, expected)
            self._act()
            return found

        def exchanged(one: str, other: str) -> bool:
            done = swap(one, other)
            self._act()
            return done

        monkeypatch.setattr(exchange, "_is_same", looked)
        monkeypatch.setattr(exchange, "_exchange", exchanged)

    def _act(self) -> None:
        if self._left:
            self._left.pop(0)()


def is_named_by(descriptor: int, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return is_named(descriptor, str(path))
    return False


def replaces(inbox: Path, data: bytes) -> Callable[[], None]:
    """Another program renames its version over the file."""

    def act() -> None:
        theirs = inbox.parent / "theirs"
        theirs.write_bytes(data)
        theirs.rename(inbox)

    return act


def test_a_file_that_is_as_expected_is_replaced(inbox: Path) -> None:
    assert put(inbox, written(inbox, b"old"))
    assert (inbox.read_bytes(), names(inbox)) == (b"ours", ["bob.json"])


def test_what_another_program_wrote_before_stays(inbox: Path) -> None:
    old = written(inbox, b"old")
    inbox.write_bytes(b"theirs")
    assert not put(inbox, old)
    assert (inbox.read_bytes(), names(inbox)) == (b"theirs", ["bob.json", "draft"])
    inbox.unlink()
    assert not put(inbox, old)


def test_what_another_program_wrote_in_the_last_moment_is_in_ours(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = written(inbox, b"old")
    Meanwhile(monkeypatch, replaces(inbox, b"theirs"))
    assert put(inbox, old)
    assert (inbox.read_bytes(), names(inbox)) == (b"theirs and ours", ["bob.json"])


def test_the_last_of_several_that_came_in_between_counts(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = written(inbox, b"old")
    Meanwhile(monkeypatch, replaces(inbox, b"first"), replaces(inbox, b"second"))
    assert put(inbox, old)
    assert (inbox.read_bytes(), names(inbox)) == (b"second and ours", ["bob.json"])


def test_a_program_that_opens_ours_too_early_waits_for_the_right_one(
    inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(inbox.read_bytes()))

    def reads() -> None:
        (ours,) = (number for number in map(int, os.listdir("/proc/self/fd")) if is_named_by(number, inbox))
        reader.start()
        while fcntl.fcntl(ours, fcntl.F_GETLEASE) == fcntl.F_WRLCK:
            pass

    old = written(inbox, b"old")
    Meanwhile(monkeypatch, replaces(inbox, b"theirs"), reads)
    assert put(inbox, old)
    reader.join(PATIENCE)
    assert found == [b"theirs and ours"]


def test_a_program_that_is_writing_into_the_old_file_is_waited_for(
    inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = written(inbox, b"old")
    theirs = inbox.open("wb")
    pauses: list[float] = []

    def writes(seconds: float) -> None:
        pauses.append(seconds)
        theirs.write(b"theirs")
        theirs.close()

    monkeypatch.setattr("time.sleep", writes)
    monkeypatch.setattr(exchange, "_is_same", lambda *_: True)
    assert put(inbox, old)
    assert (inbox.read_bytes(), names(inbox)) == (b"theirs and ours", ["bob.json"])
    assert len(pauses) == 1


def test_what_was_displaced_goes_back_if_ours_cannot_be_made_again(
    inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    old = written(inbox, b"old")
    Meanwhile(monkeypatch, replaces(inbox, b"theirs"))
    monkeypatch.setattr(exchange, "write_draft", full)
    with pytest.raises(OSError, match="No space"):
        put(inbox, old)
    assert inbox.read_bytes() == b"theirs"


def test_a_file_that_disappears_in_the_last_moment_has_changed(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = written(inbox, b"old")
    Meanwhile(monkeypatch, inbox.unlink)
    assert not put(inbox, old)
    assert names(inbox) == ["draft"]


def test_programs_that_write_without_reading_have_the_last_word(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = written(inbox, b"old")
    Meanwhile(monkeypatch, *(replaces(inbox, b"%d" % number) for number in range(MOST_ROUNDS - 1)))
    assert not put(inbox, old)
    assert (inbox.read_bytes(), names(inbox)) == (b"%d" % (MOST_ROUNDS - 2), ["bob.json"])


def test_a_file_that_only_its_owner_may_read_is_replaced_too(inbox: Path) -> None:
    (inbox.parent / "draft").chmod(0o400)
    assert put(inbox, written(inbox, b"old"))
    assert inbox.read_bytes() == b"ours"


def test_a_file_is_created_and_never_replaced(inbox: Path) -> None:
    assert put(inbox, Version())
    assert (inbox.read_bytes(), names(inbox)) == (b"ours", ["bob.json"])
    (inbox.parent / "draft").write_bytes(b"more")
    assert not put(inbox, Version())
    assert inbox.read_bytes() == b"ours"


def test_where_nothing_can_be_exchanged_or_linked_the_draft_is_renamed(
    inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OldLibrary:
        def __init__(self, *_: object, **__: object) -> None:
            pass

    monkeypatch.setattr("ctypes.CDLL", OldLibrary)
    assert put(inbox, written(inbox, b"old"))
    assert (inbox.read_bytes(), names(inbox)) == (b"ours", ["bob.json"])

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    (inbox.parent / "draft").write_bytes(b"more")
    inbox.unlink()
    assert put(inbox, Version())
    assert inbox.read_bytes() == b"more"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_file_system_that_refuses_is_told_from_one_that_fails(
    inbox: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    class Library:
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def renameat2(self, *_: object) -> int:
            return -1

    monkeypatch.setattr("ctypes.CDLL", Library)
    monkeypatch.setattr("ctypes.get_errno", lambda: number)
    old = written(inbox, b"old")
    if number == errno.EINVAL:
        assert put(inbox, old)
    else:
        with pytest.raises(OSError, match="Input/output error"):
            put(inbox, old)

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", broken)
    with pytest.raises(OSError, match="Input/output error"):
        put(inbox, Version())
