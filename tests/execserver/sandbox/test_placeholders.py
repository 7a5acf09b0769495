import os
from pathlib import Path

from codex_mcp.execserver.sandbox.placeholders import Placeholder, Placeholders


def held(places: Placeholders, path: Path) -> Placeholder:
    place = places.hold(str(path))
    assert place is not None
    return place


def test_a_placeholder_is_there_as_long_as_one_needs_it(tmp_path: Path) -> None:
    places, path = Placeholders(), tmp_path / ".git"
    first, second = held(places, path), held(places, path)
    assert str(path) in places
    places.release(first)
    assert path.is_dir()
    places.release(second)
    assert not path.exists()
    assert len(places) == 0


def test_what_was_there_before_is_left_alone(tmp_path: Path) -> None:
    for name in ("empty", "full", "file", "link"):
        (tmp_path / name).mkdir() if name != "file" else (tmp_path / name).touch()
    (tmp_path / "full/x").touch()
    (tmp_path / "full").chmod(0o555)
    (tmp_path / "link").rmdir()
    (tmp_path / "link").symlink_to("empty")
    for name in ("empty", "full", "file", "link"):
        assert Placeholders().hold(str(tmp_path / name)) is None
    assert len(os.listdir(tmp_path)) == 4
    (tmp_path / "full").chmod(0o755)


def test_what_somebody_put_there_meanwhile_stays(tmp_path: Path) -> None:
    places, path = Placeholders(), tmp_path / ".git"
    place = held(places, path)
    path.chmod(0o755)
    (path / "config").write_text("x")
    places.release(place)
    assert (path / "config").exists()


def test_an_empty_folder_that_somebody_put_in_its_place_stays(tmp_path: Path) -> None:
    places, path = Placeholders(), tmp_path / ".git"
    place = held(places, path)
    path.rmdir()
    path.mkdir()
    assert places.hold(str(path)) is None
    places.release(place)
    assert path.is_dir()


def test_one_that_somebody_removed_is_made_again_for_the_next(tmp_path: Path) -> None:
    places, path = Placeholders(), tmp_path / ".git"
    first = held(places, path)
    path.rmdir()
    second = held(places, path)
    assert path.is_dir()
    places.release(first)
    assert path.is_dir(), "the second one needs it"
    places.release(second)
    assert not path.exists()


def test_of_several_servers_the_last_one_removes_it(tmp_path: Path) -> None:
    path, servers = tmp_path / ".git", [Placeholders() for _ in range(3)]
    places = [held(server, path) for server in servers]
    for server, place in zip(servers, places, strict=True):
        assert path.is_dir()
        server.release(place)
    assert not path.exists()


def test_what_a_killed_server_left_is_taken_over(tmp_path: Path) -> None:
    path, places = tmp_path / ".git", Placeholders()
    path.mkdir(0o555)
    places.release(held(places, path))
    assert not path.exists()
