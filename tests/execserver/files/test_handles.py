from pathlib import Path

import pytest

from codex_mcp.execserver.files.handles import MAX_HANDLES, FileHandles
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec import files as fs


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
