import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from codex_mcp.mail.files.locks import Locked, both_locks
from tests.support.patience import PATIENCE


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    return tmp_path / "bob.json"


def folder_of(inbox: Path) -> Path:
    """Claude Code's lock."""
    return inbox.with_name("bob.json.lock")


def age(path: Path, seconds: float) -> None:
    """Make a lock as old as if its holder had died then."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_both_locks_are_held_where_the_others_look_and_released(inbox: Path) -> None:
    with both_locks(str(inbox)) as held:
        assert folder_of(inbox).is_dir()
        with (inbox.parent / "bob.lock").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert held.are_ours()
    assert not folder_of(inbox).exists()
    with (inbox.parent / "bob.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_they_are_released_after_an_error(inbox: Path) -> None:
    with pytest.raises(ZeroDivisionError), both_locks(str(inbox)):
        raise ZeroDivisionError
    with both_locks(str(inbox), 0):
        pass


def test_claude_codes_lock_excludes_us_and_we_release_the_other_one(inbox: Path) -> None:
    folder_of(inbox).mkdir()
    with (
        pytest.raises(Locked, match=r"has held its lock for 0 s; try again"),
        both_locks(str(inbox), 0),
    ):
        pass
    with (inbox.parent / "bob.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert folder_of(inbox).is_dir()


def test_atms_lock_excludes_us_and_we_release_the_other_one(inbox: Path) -> None:
    with (inbox.parent / "bob.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Locked), both_locks(str(inbox), 0):
            pass
    assert not folder_of(inbox).exists()


def test_we_wait_for_the_other_program(inbox: Path) -> None:
    folder_of(inbox).mkdir()
    entered = threading.Event()

    def enter() -> None:
        with both_locks(str(inbox), PATIENCE):
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    assert not entered.is_set()
    folder_of(inbox).rmdir()
    assert entered.wait(PATIENCE)
    thread.join()


def test_a_lock_is_taken_over_after_ten_seconds_and_not_after_eight(inbox: Path) -> None:
    folder_of(inbox).mkdir()
    age(folder_of(inbox), 8)
    with pytest.raises(Locked), both_locks(str(inbox), 0):
        pass
    age(folder_of(inbox), 11)
    with both_locks(str(inbox), PATIENCE) as held:
        assert held.are_ours()
    assert [path.name for path in inbox.parent.iterdir()] == ["bob.lock"]


def test_the_lock_file_of_atm_1_0_is_respected_while_it_is_held(inbox: Path) -> None:
    with folder_of(inbox).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        age(folder_of(inbox), 60)
        with pytest.raises(Locked), both_locks(str(inbox), 0):
            pass
        fcntl.flock(file, fcntl.LOCK_UN)
        age(folder_of(inbox), 1)
        with pytest.raises(Locked), both_locks(str(inbox), 0):
            pass
        age(folder_of(inbox), 60)
    with both_locks(str(inbox), PATIENCE):
        assert folder_of(inbox).is_dir()


def test_a_link_in_place_of_the_lock_file_is_left_alone(inbox: Path) -> None:
    target = inbox.parent / "target"
    target.write_text("")
    folder_of(inbox).symlink_to(target)
    os.utime(folder_of(inbox), (0, 0), follow_symlinks=False)
    with pytest.raises(Locked), both_locks(str(inbox), 0):
        pass
    assert folder_of(inbox).is_symlink()


def test_a_lock_that_was_taken_from_us_is_noticed_and_not_removed(inbox: Path) -> None:
    with both_locks(str(inbox)) as held:
        folder_of(inbox).rename(inbox.parent / "stolen")
        assert not held.are_ours()
        folder_of(inbox).mkdir()
        assert not held.are_ours()
    assert folder_of(inbox).is_dir()


def test_a_missing_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), both_locks(str(tmp_path / "gone" / "bob.json")):
        pass


def test_a_folder_in_which_nothing_can_be_made_releases_the_other_lock(inbox: Path) -> None:
    too_long = inbox.with_name(f"{'b' * 250}.json")  # the flock's name fits, the folder's does not
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="too long"), both_locks(str(too_long)):
        pass
    assert len(os.listdir("/proc/self/fd")) == before
