import errno
import os
from pathlib import Path

import pytest

from codex_mcp.mail.files.exchange import put_in_place


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "draft").write_bytes(b"ours")
    return tmp_path / "bob.json"


def names(inbox: Path) -> list[str]:
    return sorted(path.name for path in inbox.parent.iterdir())


def put(inbox: Path, expected: os.stat_result | None) -> bool:
    return put_in_place(str(inbox.parent / "draft"), str(inbox), expected)


def written(inbox: Path, data: bytes) -> os.stat_result:
    inbox.write_bytes(data)
    return inbox.stat()


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


def test_what_another_program_wrote_in_the_last_moment_goes_back(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = written(inbox, b"old")
    looks: list[str] = []
    lstat = os.lstat

    def last_moment(path: str) -> os.stat_result:
        status = lstat(path)
        if not looks:
            theirs = inbox.parent / "theirs"
            theirs.write_bytes(b"theirs")
            theirs.rename(inbox)
        looks.append(path)
        return status

    monkeypatch.setattr(os, "lstat", last_moment)
    assert not put(inbox, old)
    assert inbox.read_bytes() == b"theirs"
    assert (inbox.parent / "draft").read_bytes() == b"ours"
    assert len(looks) == 2


def test_a_file_is_created_and_never_replaced(inbox: Path) -> None:
    assert put(inbox, None)
    assert (inbox.read_bytes(), names(inbox)) == (b"ours", ["bob.json"])
    (inbox.parent / "draft").write_bytes(b"more")
    assert not put(inbox, None)
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
    assert put(inbox, None)
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
        put(inbox, None)
