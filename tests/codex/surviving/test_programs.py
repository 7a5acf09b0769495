"""The Codex of a surviving core stays as it is when the package is updated."""

import errno
import os
from pathlib import Path

import pytest

from codex_mcp.codex.surviving.programs import FOLDER, kept_program


def package(folder: Path, text: str = "one") -> Path:
    """A package with a program and a tool."""
    for name in ("bin/codex", "codex-path/rg", "__pycache__/x.pyc", "codex-package.json"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    if not (folder / "link").exists():
        (folder / "link").symlink_to("bin")
    return folder / "bin" / "codex"


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_a_package_is_kept_whole_as_links(tmp_path: Path) -> None:
    program = package(tmp_path / "package")
    kept = kept_program(str(tmp_path), str(program))
    assert Path(kept.program).samefile(program)
    assert files(Path(kept.folder)) == ["bin/codex", "codex-package.json", "codex-path/rg"]
    outside = str(tmp_path / "package-2")
    path = os.pathsep.join([outside, str(tmp_path / "package" / "codex-path"), "/usr/bin"])
    assert kept.search_path(path) == os.pathsep.join([outside, f"{kept.folder}/codex-path", "/usr/bin"])
    assert kept_program(str(tmp_path), str(program)) == kept


def test_an_update_gets_a_folder_of_its_own_and_changes_nothing(tmp_path: Path) -> None:
    program = package(tmp_path / "package")
    before = kept_program(str(tmp_path), str(program))
    for path in (program, tmp_path / "package" / "codex-path" / "rg"):
        path.unlink()
    package(tmp_path / "package", "two")
    after = kept_program(str(tmp_path), str(program))
    assert (Path(before.program).read_text(), Path(after.program).read_text()) == ("one", "two")
    assert (Path(before.folder) / "codex-path" / "rg").read_text() == "one"


def test_a_program_alone_is_kept_alone(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("one")
    program.chmod(0o755)
    (program.parent / "other").write_text("not ours")
    kept = kept_program(str(tmp_path), str(program))
    assert files(Path(kept.program).parent) == ["codex"]
    assert kept.search_path("/usr/bin") == "/usr/bin"


def test_where_no_links_can_be_made_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", no_link)
    program = package(tmp_path / "package")
    kept = kept_program(str(tmp_path), str(program))
    assert not Path(kept.program).samefile(program)
    assert (Path(kept.program).read_text(), os.access(kept.program, os.X_OK)) == ("one", True)


def test_two_servers_at_once_keep_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = package(tmp_path / "package")
    rename = os.rename

    def late(source: str, target: str) -> None:
        monkeypatch.setattr(os, "rename", rename)
        kept_program(str(tmp_path), str(program))  # the other server
        rename(source, target)

    monkeypatch.setattr(os, "rename", late)
    kept = kept_program(str(tmp_path), str(program))
    assert os.listdir(tmp_path / FOLDER) == [os.path.basename(kept.folder)]


def test_a_disk_that_is_full_leaves_no_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = package(tmp_path / "package")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="no space"):
        kept_program(str(tmp_path), str(program))
    assert os.listdir(tmp_path / FOLDER) == []
