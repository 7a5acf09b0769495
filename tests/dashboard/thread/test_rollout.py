"""Rollout files, found by the id of their thread."""

import os
from pathlib import Path

from codex_mcp.dashboard.thread.rollout import find_rollout, steps_on_disk
from codex_mcp.wire.control_thread import ListSteps
from tests.dashboard.thread.test_kept import LINES

THREAD = "01a1f402-476e-7520-a26b-82cfc4a14006"
DAY = "sessions/2026/11/19"


def test_a_file_is_found_by_its_thread_alone(tmp_path: Path) -> None:
    folder = tmp_path / DAY
    folder.mkdir(parents=True)
    path = folder / f"rollout-2026-11-19T13-32-32-{THREAD}.jsonl"
    path.write_bytes(b"\n".join(LINES))
    (folder / "rollout-2026-11-19T13-32-32-01a1f402-476e-7520-a26b-000000000000.jsonl").write_bytes(b"")
    assert find_rollout(str(tmp_path), THREAD) == str(path)
    known = steps_on_disk(str(tmp_path), ListSteps(thread=THREAD, turn="t"))
    assert known is not None
    assert len(known.steps) == 8
    for other in ("01a1f402-476e-7520-a26b-82cfc4a14007", "../../etc/passwd", "*", "", f"{THREAD}x"):
        assert find_rollout(str(tmp_path), other) is None


def test_a_link_and_a_pipe_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / DAY
    folder.mkdir(parents=True)
    name = folder / f"rollout-2026-11-19T13-32-32-{THREAD}.jsonl"
    secret = tmp_path / "secret"
    secret.write_bytes(b"\n".join(LINES))
    name.symlink_to(secret)
    assert steps_on_disk(str(tmp_path), ListSteps(thread=THREAD)) is None
    name.unlink()
    os.mkfifo(name)
    assert steps_on_disk(str(tmp_path), ListSteps(thread=THREAD)) is None
