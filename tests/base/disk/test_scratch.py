"""Scratch folders: private, locked while they are used, gone afterwards, also those of killed processes."""

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp.base.disk.scratch import ATTEMPTS, FOLDER, MOST_CLEANED, new_private_folder, scratch_folder

HOLDER = """
import sys
from codex_mcp.base.disk.scratch import scratch_folder
with scratch_folder(sys.argv[1]) as folder:
    open(folder + "/index", "w").close()
    print(folder, flush=True)
    sys.stdin.read()
"""


def held(home: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process that uses a scratch folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_folder_is_private_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    with scratch_folder(str(tmp_path / "home")) as folder, scratch_folder(str(tmp_path / "home")) as other:
        assert folder != other
        assert os.path.dirname(folder) == str(tmp_path / "home" / FOLDER)
        for place in (folder, os.path.dirname(folder)):
            assert stat.S_IMODE(os.stat(place).st_mode) == 0o700
        (Path(folder) / "deep").mkdir()
        (Path(folder) / "deep/file").touch()
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_before_stays(tmp_path: Path) -> None:
    (tmp_path / "codex-mcp").mkdir()
    with scratch_folder(str(tmp_path)), scratch_folder(str(tmp_path)):
        pass
    assert list(tmp_path.rglob("*")) == [tmp_path / "codex-mcp"]


def test_the_folder_of_a_killed_process_is_removed_and_that_of_a_running_one_is_not(tmp_path: Path) -> None:
    killed, left = held(tmp_path)
    end(killed)
    running, used = held(tmp_path)
    try:
        with scratch_folder(str(tmp_path)):
            assert not left.exists()
            assert (used / "index").exists()
    finally:
        end(running)
    with scratch_folder(str(tmp_path)):
        assert not used.exists()


@pytest.mark.parametrize("times", [3, ATTEMPTS])
def test_a_folder_that_another_process_locks_first_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Whoever may read our folders can lock them, also an agent that may write nothing."""
    lock_file, opened = fcntl.flock, list[int]()

    def locked_first(descriptor: int, operation: int) -> None:
        if len(opened) < times:
            opened.append(os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY))
            lock_file(opened[-1], fcntl.LOCK_EX)
        lock_file(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", locked_first)
    try:
        if times < ATTEMPTS:
            with scratch_folder(str(tmp_path)) as folder:
                assert os.listdir(tmp_path / FOLDER) == [os.path.basename(folder)]
        else:
            with pytest.raises(OSError, match="locks every folder"), scratch_folder(str(tmp_path)):
                pass
    finally:
        for each in opened:
            os.close(each)


def test_a_crowded_folder_is_cleaned_step_by_step(tmp_path: Path) -> None:
    place = tmp_path / FOLDER
    for number in range(MOST_CLEANED + 5):
        (place / str(number)).mkdir(parents=True)
    with scratch_folder(str(tmp_path)):
        assert len(list(place.iterdir())) == 6
    with scratch_folder(str(tmp_path)):
        assert len(list(place.iterdir())) == 1


def test_a_link_in_its_place_is_refused_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "codex-mcp").mkdir()
    (tmp_path / FOLDER).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="directory"), scratch_folder(str(tmp_path)):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_that_others_may_write_becomes_private(tmp_path: Path) -> None:
    place = tmp_path / "demos"
    place.mkdir()
    place.chmod(0o777)
    folder = new_private_folder(str(place))
    assert [stat.S_IMODE(os.stat(each).st_mode) for each in (place, folder)] == [0o700, 0o700]


def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PermissionError, match="another user"):
        new_private_folder(str(tmp_path / "demos"))
