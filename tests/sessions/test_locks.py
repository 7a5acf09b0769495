"""A session belongs to one server at a time, until it is given back or its server is gone."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp.sessions.locks import FOLDER, SessionLocks
from codex_mcp.sessions.session import Key

KEY = Key("ada", "review")


def test_one_server_has_it_and_the_other_sees_that(tmp_path: Path) -> None:
    one, another = SessionLocks(str(tmp_path)), SessionLocks(str(tmp_path))
    assert one.take(KEY)
    assert one.take(KEY)
    assert not another.take(KEY)
    assert one.is_taken(KEY)
    assert another.is_taken(KEY)
    assert not another.is_taken(Key("bob", "review"))
    one.free(KEY)
    one.free(KEY)
    assert not another.is_taken(KEY)
    assert another.take(KEY)
    another.close()
    assert not one.is_taken(KEY)
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_server_that_was_killed_has_nothing(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "from codex_mcp.sessions.locks import SessionLocks\n"
        "from codex_mcp.sessions.session import Key\n"
        f"assert SessionLocks({str(tmp_path)!r}).take(Key('ada', 'review'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -signal.SIGKILL
    locks = SessionLocks(str(tmp_path))
    assert not locks.is_taken(KEY)
    assert locks.take(KEY)
    locks.close()


def test_without_a_folder_for_locks_sessions_can_be_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "codex-mcp").write_text("in the way")
    locks = SessionLocks(str(tmp_path))
    assert locks.take(KEY)
    assert locks.is_taken(KEY)
    locks.free(KEY)
    assert not locks.is_taken(KEY)
    assert "cannot protect named sessions" in caplog.text
