"""Whoever builds a commit gets the same packages as we, byte for byte."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tests.packages.packages import ROOT, UV

BUILD = [UV, "build", "-q", "--offline", "--no-build-isolation", "--python", sys.executable]


def built(folder: Path, mode: int, seed: int) -> dict[str, str]:
    """The hashes of the packages of a checkout in this folder, whose files have these rights and another age."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in tracked.decode().rstrip("\0").split("\0"):
        if not (source := ROOT / name).is_file():  # removed, and not committed yet
            continue
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
        copy.chmod(mode | (source.stat().st_mode & 0o100))
        os.utime(copy, (1e9 + seed, 1e9 + seed))
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "TZ": f"UTC{seed}", "LC_ALL": "C"}
    place = folder.parent / f"dist-{seed}"
    subprocess.run([*BUILD, "--out-dir", place, folder], check=True, env=environment)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in place.glob("codex_mcp-*")}


def test_two_builds_of_a_commit_are_the_same(tmp_path: Path) -> None:
    first, second = (built(tmp_path / f"checkout {seed}", mode, seed) for seed, mode in ((1, 0o644), (2, 0o600)))
    assert {name.rpartition(".")[2] for name in first} == {"whl", "gz"}
    assert first == second
