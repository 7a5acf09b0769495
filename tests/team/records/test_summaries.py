"""Summaries in a real folder."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Refused
from codex_mcp.team.records.summaries import (
    CUT,
    LONGEST,
    TAG,
    Summary,
    as_preface,
    path_of,
    read_summary,
    write_summary,
)

THREAD = "01a1dcb0-5e0e-7373-86f1-bb882b5e21a5"


def test_a_summary_is_written_private_and_read_back(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    path = Path(write_summary(state, "arch", THREAD, "# Done\n\nNothing é.\n"))
    assert path == tmp_path / "state" / "arch" / THREAD / "summary.md"
    read = read_summary(state, "arch", THREAD)
    assert read == Summary("# Done\n\nNothing é.", path.stat().st_mtime)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in list(path.parents)[:3]} == {0o700}


def test_a_new_one_replaces_the_old_one_and_the_drafts_of_the_dead(tmp_path: Path) -> None:
    folder = Path(write_summary(str(tmp_path), "arch", THREAD, "old")).parent
    (folder / ".summary.md.0123456789ab.draft").write_bytes(b"half")
    write_summary(str(tmp_path), "arch", THREAD, "new")
    read = read_summary(str(tmp_path), "arch", THREAD)
    assert read is not None
    assert read.text == "new"
    assert os.listdir(folder) == ["summary.md"]


def test_there_may_be_none(tmp_path: Path) -> None:
    assert read_summary(str(tmp_path), "arch", THREAD) is None
    write_summary(str(tmp_path), "arch", THREAD, " \n")
    assert read_summary(str(tmp_path), "arch", THREAD) is None


def test_one_that_cannot_be_read_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "arch" / THREAD / "summary.md").mkdir(parents=True)
    assert read_summary(str(tmp_path), "arch", THREAD) is None
    assert "continuing without it" in caplog.text


@pytest.mark.parametrize(("letters", "odd"), [("x", ""), ("é", "x")])
def test_a_long_one_is_cut_between_letters(tmp_path: Path, letters: str, odd: str) -> None:
    write_summary(str(tmp_path), "arch", THREAD, odd + letters * (LONGEST + 1))
    read = read_summary(str(tmp_path), "arch", THREAD)
    assert read is not None
    assert read.text.endswith(letters + CUT.rstrip())
    assert len(read.text.encode()) <= LONGEST + len(CUT)
    assert "\ufffd" not in read.text


def test_bytes_that_are_no_text_are_no_trouble(tmp_path: Path) -> None:
    path = Path(write_summary(str(tmp_path), "arch", THREAD, "lone \udc80 surrogate"))
    assert path.read_bytes() == b"lone ? surrogate"
    path.write_bytes(b"ab\xffc")
    read = read_summary(str(tmp_path), "arch", THREAD)
    assert read is not None
    assert read.text == "ab\ufffdc"


@pytest.mark.parametrize(
    ("identity", "thread_id"),
    [
        *((identity, THREAD) for identity in ("..", "a/b", "")),
        *(("arch", thread_id) for thread_id in ("..", "", "a/../../b", "a\0")),
    ],
)
def test_no_name_leads_elsewhere(tmp_path: Path, identity: str, thread_id: str) -> None:
    for use in (path_of, read_summary):
        with pytest.raises(Refused):
            use(str(tmp_path), identity, thread_id)
    with pytest.raises(Refused):
        write_summary(str(tmp_path), identity, thread_id, "x")
    assert os.listdir(tmp_path) == []


@given(st.text(max_size=20), st.text(max_size=20))
def test_every_path_is_three_below_the_folder(identity: str, thread_id: str) -> None:
    try:
        path = path_of("/state", identity, thread_id)
    except Refused:
        return
    assert os.path.normpath(path) == path
    assert Path(path).parents[2] == Path("/state")


@given(st.text(), st.sampled_from([f"</{TAG}>", f"< /{TAG.upper()} >", f"</\n{TAG}"]), st.text())
def test_a_summary_cannot_end_its_block(before: str, tag: str, after: str) -> None:
    preface = as_preface(Summary(before + tag + after, 0))
    assert preface.count(f"</{TAG}") == 1
    assert f"</{TAG}" not in preface.lower().split(f"</{TAG}>\nThe block above".lower())[0]
    assert preface.startswith(f'<{TAG} written-at="1970-01-01T00:00:00.000Z">\n')


def test_a_summary_that_is_a_pipe_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = Path(write_summary(str(tmp_path), "arch", "t-1", "done"))
    path.unlink()
    os.mkfifo(path)
    assert read_summary(str(tmp_path), "arch", "t-1") is None
    assert "it is not a regular file" in caplog.text
