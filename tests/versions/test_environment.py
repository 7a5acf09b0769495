"""The environment with another Codex has its own files, which a sandbox can show."""

import os
from pathlib import Path

from tests.versions.__main__ import same_files


def test_the_files_of_a_package_are_the_same_and_in_a_folder_of_their_own(tmp_path: Path) -> None:
    package = tmp_path / "ours/package"
    (package / "inner").mkdir(parents=True)
    (package / "inner/module.py").write_text("x = 1\n")
    (tmp_path / "ours/single.py").write_text("y = 1\n")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name in ("package", "single.py"):
        same_files(tmp_path / "ours" / name, theirs / name)
    for name in ("package/inner/module.py", "single.py"):
        assert os.path.realpath(theirs / name) == str(theirs / name)
        assert os.path.samefile(theirs / name, tmp_path / "ours" / name)
