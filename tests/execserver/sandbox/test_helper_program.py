import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from codex_mcp.execserver.sandbox.helper_program import helper_launch, runtime_paths


def test_the_helpers_own_files_are_named_once_and_the_current_folder_is_none_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    paths = runtime_paths()
    assert str(tmp_path) not in [*paths, *helper_launch().argv]
    assert all(os.path.isdir(path) for path in paths)
    assert not any(path != other and path.startswith(other + "/") for path in paths for other in paths)


def test_compiled_modules_are_found_wherever_a_system_has_them() -> None:
    for name in ("_socket", "_decimal", "_struct", "_json"):
        found = importlib.util.find_spec(name)
        assert found is not None
        if found.has_location:  # else it is a part of Python itself
            assert os.path.dirname(found.origin or "") in helper_launch().argv


def test_a_helper_whose_socket_ends_ends_in_peace() -> None:
    what = helper_launch()
    ended = subprocess.run(what.argv, env=what.env, cwd=what.cwd, stdin=subprocess.DEVNULL, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
