"""Session ids that were ended stay ended, in a file of bounded size."""

import contextlib
import os
import time
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.mcp.http.ended_sessions import DATABASE, EndedSessions

LATER = 1000.0


def test_an_ended_id_is_known_to_the_next_server_of_the_same_home(tmp_path: Path) -> None:
    with contextlib.closing(EndedSessions(str(tmp_path))) as ended:
        ended.add("one", time.time() + LATER)
        ended.add("one", time.time() + LATER)
    with contextlib.closing(EndedSessions(str(tmp_path))) as ended:
        assert ("one" in ended, "two" in ended) == (True, False)


def test_ids_that_have_expired_and_ids_beyond_the_limit_are_forgotten(tmp_path: Path) -> None:
    now = time.time()
    with contextlib.closing(EndedSessions(str(tmp_path), kept=2)) as ended:
        ended.add("old", now - 1)
        for number in range(3):
            ended.add(str(number), now + LATER + number)
        assert [name in ended for name in ("old", "0", "1", "2")] == [False, False, True, True]


def test_the_file_is_its_owners_alone_and_holds_no_id(tmp_path: Path) -> None:
    with contextlib.closing(EndedSessions(str(tmp_path))) as ended:
        ended.add("an-id-that-must-not-be-found", time.time() + LATER)
    files = list((tmp_path / DATABASE).parent.iterdir())
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert not any(b"an-id-that" in file.read_bytes() for file in files)


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    os.makedirs(tmp_path / DATABASE)
    with pytest.raises(Refused, match="which lists the sessions that have ended"):
        EndedSessions(str(tmp_path))


def test_a_disk_that_fails_does_not_keep_a_session_from_ending(tmp_path: Path) -> None:
    ended = EndedSessions(str(tmp_path))
    ended.close()
    ended.add("one", time.time() + LATER)
