from pathlib import Path

from codex_mcp.execserver.placeholders import Placeholders


def test_a_placeholder_is_there_as_long_as_one_needs_it(tmp_path: Path) -> None:
    places, path = Placeholders(), tmp_path / ".git"
    assert places.hold(str(path))
    assert places.hold(str(path))
    assert str(path) in places
    places.release(str(path))
    assert path.is_dir()
    places.release(str(path))
    assert not path.exists()
    assert len(places) == 0


def test_what_was_there_before_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / ".git"
    path.mkdir()
    assert not Placeholders().hold(str(path))
    assert path.is_dir()


def test_what_somebody_put_there_meanwhile_stays(tmp_path: Path) -> None:
    places, path = Placeholders(), tmp_path / ".git"
    places.hold(str(path))
    path.chmod(0o755)
    (path / "config").write_text("x")
    places.release(str(path))
    assert (path / "config").exists()
