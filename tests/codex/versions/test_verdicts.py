import os
from pathlib import Path

from codex_mcp import __version__
from codex_mcp.codex.versions import verdicts
from codex_mcp.codex.versions.verdict import Verdict
from codex_mcp.codex.versions.verdicts import KEPT, identity_of, record, same_as_before, verdict_on


def tried(path: Path, sha256: str = "x", by: str = __version__, **more: str) -> Verdict:
    return Verdict(identity=identity_of(str(path)), sha256=sha256, version="9.9.9", by=by, **more)


def codex(folder: Path, name: str = "codex") -> Path:
    path = folder / name
    path.write_text(name)
    return path


def test_a_verdict_counts_until_the_file_changes(tmp_path: Path) -> None:
    path = codex(tmp_path)
    assert verdict_on(str(path), str(tmp_path)) is None
    record(tried(path), str(tmp_path))
    assert verdict_on(str(path), str(tmp_path)) == tried(path)
    path.write_text("changed")
    assert verdict_on(str(path), str(tmp_path)) is None
    assert verdict_on(str(tmp_path / "gone"), str(tmp_path)) is None


def test_a_file_that_looks_as_before_but_was_written_again_has_no_verdict(tmp_path: Path) -> None:
    path = codex(tmp_path)
    record(tried(path), str(tmp_path))
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # the clock of files ticks every few milliseconds
        path.write_text("CODEX")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert verdict_on(str(path), str(tmp_path)) is None


def test_a_verdict_of_another_codex_mcp_does_not_count(tmp_path: Path) -> None:
    path = codex(tmp_path)
    record(tried(path, by="0.0.1"), str(tmp_path))
    assert verdict_on(str(path), str(tmp_path)) is None


def test_the_same_contents_elsewhere_have_the_same_verdict(tmp_path: Path) -> None:
    record(tried(codex(tmp_path), "hash", failed="steer", why="no"), str(tmp_path))
    elsewhere = identity_of(str(codex(tmp_path, "elsewhere")))
    found = same_as_before(elsewhere, "hash", "9.9.9", str(tmp_path))
    assert found is not None
    assert (found.identity, found.failed, found.is_fit) == (elsewhere, "steer", False)
    assert same_as_before(elsewhere, "other", "9.9.9", str(tmp_path)) is None
    assert same_as_before(elsewhere, "hash", "9.9.10", str(tmp_path)) is None


def test_a_new_verdict_replaces_the_one_on_the_same_path_and_few_are_kept(tmp_path: Path) -> None:
    path = codex(tmp_path)
    record(tried(path, failed="turn"), str(tmp_path))
    record(tried(path), str(tmp_path))
    assert verdict_on(str(path), str(tmp_path)) == tried(path)
    for number in range(KEPT + 1):
        record(tried(codex(tmp_path, str(number))), str(tmp_path))
    assert verdict_on(str(path), str(tmp_path)) is None
    assert verdict_on(str(tmp_path / "1"), str(tmp_path)) is not None


def test_a_damaged_file_counts_as_empty_and_is_private_when_written_again(tmp_path: Path) -> None:
    file = tmp_path / verdicts.FILE
    file.parent.mkdir()
    file.write_text("{")
    path = codex(tmp_path)
    assert verdict_on(str(path), str(tmp_path)) is None
    file.unlink()
    record(tried(path), str(tmp_path))
    assert os.stat(file).st_mode & 0o777 == 0o600
