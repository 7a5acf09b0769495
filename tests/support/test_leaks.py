"""The checker of leaks, shown leaks of every kind."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.leaks import leaks_since, take_snapshot


def test_a_test_that_cleans_up_leaves_nothing(tmp_path: Path) -> None:
    before = take_snapshot()
    (tmp_path / "a").write_text("written and closed")
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert leaks_since(before) == []


def test_an_open_file_is_found(tmp_path: Path) -> None:
    before = take_snapshot()
    with (tmp_path / "left").open("w"):
        [leak] = leaks_since(before)
    assert leak.startswith("file descriptor")
    assert leak.endswith(str(tmp_path / "left"))


def test_a_descriptor_that_now_leads_elsewhere_is_found(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "first", os.O_CREAT)
    before = take_snapshot()
    os.close(descriptor)
    reused = os.open(tmp_path / "second", os.O_CREAT)
    leaks = leaks_since(before)
    os.close(reused)
    assert reused == descriptor
    assert len(leaks) == 1


def test_a_running_child_is_found() -> None:
    before = take_snapshot()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        leaks = leaks_since(before)
    assert f"child process {child.pid} is left: cat" in leaks


def test_a_child_nobody_waited_for_is_found() -> None:
    before = take_snapshot()
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    leaks = leaks_since(before)
    os.waitpid(child, 0)
    assert leaks == [f"child process {child} is left: a zombie: nobody waited for it"]


def test_a_running_thread_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.leaks.PATIENCE", 0.01)
    before = take_snapshot()
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="left-over")
    thread.start()
    leaks = leaks_since(before)
    end.set()
    thread.join()
    assert leaks == ["thread 'left-over' is left running"]
