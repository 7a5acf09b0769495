from pathlib import Path

import pytest

from codex_mcp.execserver.files.handles import MAX_HANDLES, FileHandles
from codex_mcp.execserver.files.missing_watches import MAX_PATHS, MAX_WATCHES, MissingWatches
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec import files as fs
from codex_mcp.wire.exec.files import Watching, WatchMissing
from tests.support.exec.parts import RecordingTransport


def test_a_connection_has_so_many_files_open_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    handles = FileHandles(Confinement([]))
    for number in range(MAX_HANDLES):
        handles.open(fs.OpenFile(str(number), str(tmp_path / "file")))
    with pytest.raises(RequestFailed, match="too many open files"):
        handles.open(fs.OpenFile("more", str(tmp_path / "file")))
    assert len(handles) == MAX_HANDLES
    handles.close_all()
    handles.close_all()
    assert len(handles) == 0


def test_a_file_that_does_not_open_takes_no_handle() -> None:
    handles = FileHandles(Confinement([]))
    with pytest.raises(RequestFailed):
        handles.open(fs.OpenFile("h", "file:///nonexistent"))
    assert len(handles) == 0


def test_offsets_beyond_any_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    handles = FileHandles(Confinement([]))
    handles.open(fs.OpenFile("h", str(tmp_path / "file")))
    for offset in [-1, 2**63]:
        with pytest.raises(RequestFailed, match="64-bit"):
            handles.read_block(fs.ReadBlock("h", offset, 1))
    with pytest.raises(RequestFailed, match="Invalid padding"):
        handles.write_block(fs.WriteBlock("h", 0, "x"))
    handles.close_all()


async def test_a_client_is_told_once_when_one_of_the_files_appears(tmp_path: Path) -> None:
    client = RecordingTransport()
    watches = MissingWatches(client.send)
    asked = WatchMissing(7, [str(tmp_path / "no/where"), str(tmp_path / "appears")])
    assert watches.watch(asked) == Watching(watching=True)
    (tmp_path / "appears").write_text("")
    assert await client.until("fs/missingChanged") == {"watchId": 7}
    assert len(watches) == 0
    assert watches.watch(asked) == Watching(watching=True), "its number is free again"
    watches.close_all()


async def test_a_client_is_told_when_what_was_there_goes(tmp_path: Path) -> None:
    (tmp_path / "present").write_text("")
    client = RecordingTransport()
    watches = MissingWatches(client.send)
    watches.watch(WatchMissing(1, [str(tmp_path / "missing")], present=str(tmp_path / "present")))
    (tmp_path / "present").unlink()
    await client.until("fs/missingChanged")
    watches.close_all()


async def test_what_is_not_watched_is_said(tmp_path: Path) -> None:
    watches, path = MissingWatches(RecordingTransport().send), str(tmp_path / "missing")
    assert not watches.watch(WatchMissing(1, [])).watching
    assert not watches.watch(WatchMissing(1, [path] * (MAX_PATHS + 1))).watching
    for number in range(MAX_WATCHES):
        assert watches.watch(WatchMissing(number, [path])).watching
    assert not watches.watch(WatchMissing(0, [path])).watching
    assert not watches.watch(WatchMissing(MAX_WATCHES, [path])).watching
    watches.close_all()
    watches.close_all()
