import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_mcp.mail.files import leases
from codex_mcp.mail.files.leases import KeptClosed, contents_once_written
from codex_mcp.mail.files.versions import contents
from tests.support.patience import PATIENCE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "bob.json").write_bytes(b"not checked yet")
    return tmp_path / "bob.json"


@pytest.mark.parametrize("read", [Path.read_bytes, lambda file: contents(str(file))], ids=["another program", "ours"])
@pytest.mark.parametrize(("data", "found"), [(None, b"not checked yet"), (b"right", b"right")])
def test_a_reader_waits_until_the_file_is_released(
    file: Path, read: Callable[[Path], bytes], data: bytes | None, found: bytes
) -> None:
    kept = KeptClosed(str(file))
    seen: list[bytes] = []
    reader = threading.Thread(target=lambda: seen.append(read(file)))
    reader.start()
    while fcntl.fcntl(kept._descriptor, fcntl.F_GETLEASE) == fcntl.F_WRLCK:
        pass
    assert seen == []
    assert kept.is_at(str(file))
    kept.release(data)
    reader.join(PATIENCE)
    assert seen == [found]


def test_a_file_that_another_program_has_open_is_not_kept_closed(file: Path) -> None:
    with file.open():
        kept = KeptClosed(str(file))
        assert contents(str(file)) == kept.contents() == b"not checked yet"
        kept.release(b"other")
    assert file.read_bytes() == b"not checked yet"


def test_a_program_that_does_not_stop_writing_is_not_waited_for_long(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "WRITING", 0.0)
    with file.open("ab"):
        assert contents_once_written(str(file)) == b"not checked yet"


@pytest.mark.parametrize("is_linux", [True, False])
def test_a_file_system_without_leases_keeps_nothing_closed(
    *, file: Path, monkeypatch: pytest.MonkeyPatch, is_linux: bool
) -> None:
    def refused(*_: object) -> int:
        raise OSError("no leases here")

    if not is_linux:
        monkeypatch.setattr("sys.platform", "darwin")
    else:
        monkeypatch.setattr(fcntl, "fcntl", refused)
    kept = KeptClosed(str(file))
    assert file.read_bytes() == contents_once_written(str(file)) == b"not checked yet"
    kept.release(b"other")
    assert file.read_bytes() == b"not checked yet"


def test_the_lease_ends_although_a_child_shares_the_file(file: Path) -> None:
    kept = KeptClosed(str(file))
    copy = os.dup(kept._descriptor)
    kept.release()
    assert contents(str(file)) == b"not checked yet"
    os.close(copy)
