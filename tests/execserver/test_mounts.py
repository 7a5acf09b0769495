import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from codex_mcp.execserver.bubblewrap import Kind
from codex_mcp.execserver.mounts import PROTECTED, Mounts
from codex_mcp.execserver.placeholders import Placeholders
from codex_mcp.execserver.policy import CannotEnforce, Grant, Policy
from codex_mcp.wire.exec_sandbox import Access


def mounted(*grants: Grant) -> tuple[Kind | None, dict[str, Kind]]:
    with ExitStack() as started, ExitStack() as ended:
        mounts = Mounts(Policy(has_network=False, grants=grants), Placeholders(), started, ended)
        return mounts.base, {layer.path: layer.kind for layer in mounts.layers}


READ_ALL = Grant("/", Access.READ)


def test_the_root_is_what_the_grant_for_it_says() -> None:
    assert mounted(READ_ALL) == (Kind.READ, {})
    assert mounted(Grant("/", Access.WRITE))[0] is Kind.WRITE
    assert mounted()[0] is None
    assert mounted(READ_ALL, Grant("/", Access.DENY))[0] is None


def test_names_with_power_are_protected_in_writable_folders(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".codex").write_text("")
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE))
    kinds = {name: layers[str(tmp_path / name)] for name in PROTECTED}
    assert kinds == {".git": Kind.READ, ".codex": Kind.READ, ".agents": Kind.EMPTY, ".aws": Kind.EMPTY}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".codex", ".git"], "the placeholders are gone"


def test_a_temporary_folder_gets_no_placeholders(tmp_path: Path) -> None:
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE, is_temporary=True))
    assert layers == {str(tmp_path): Kind.WRITE}


def test_a_client_may_grant_what_is_protected_otherwise(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE), Grant(str(git), Access.WRITE))
    assert layers[str(git)] is Kind.WRITE


def test_a_protected_name_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("elsewhere")
    with pytest.raises(CannotEnforce, match="symbolic link"):
        mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE))


def test_a_link_is_followed_before_the_rule_applies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    _, layers = mounted(READ_ALL, Grant(str(tmp_path / "link"), Access.WRITE))
    assert layers[str(tmp_path / "real")] is Kind.WRITE
    assert str(tmp_path / "link") not in layers


def test_what_is_hidden_is_hidden_whether_folder_or_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    _, layers = mounted(
        READ_ALL, Grant(str(tmp_path / "folder"), Access.DENY), Grant(str(tmp_path / "file"), Access.DENY)
    )
    assert layers == {str(tmp_path / "folder"): Kind.HIDDEN_FOLDER, str(tmp_path / "file"): Kind.HIDDEN_FILE}


def test_denial_beats_any_other_rule_for_the_same_path(tmp_path: Path) -> None:
    path = str(tmp_path)
    for grants in [(Access.DENY, Access.WRITE), (Access.READ, Access.DENY)]:
        assert mounted(READ_ALL, *(Grant(path, access) for access in grants))[1] == {path: Kind.HIDDEN_FOLDER}


def test_what_is_not_there_is_kept_from_being_made_where_that_is_possible(tmp_path: Path) -> None:
    project, missing = Grant(str(tmp_path), Access.WRITE), tmp_path / "secrets"
    assert mounted(READ_ALL, project, Grant(str(missing), Access.DENY))[1][str(missing)] is Kind.EMPTY
    assert str(missing) not in mounted(READ_ALL, Grant(str(missing), Access.DENY))[1]
    with pytest.raises(CannotEnforce, match="missing"):
        mounted(READ_ALL, project, Grant(str(missing / "deeper"), Access.DENY))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_in_a_temporary_one_is_as_good_as_missing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").touch()
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE, is_temporary=True))
    assert layers == {str(tmp_path): Kind.WRITE, str(tmp_path / ".codex"): Kind.READ}


def test_the_placeholder_of_another_server_is_shared(tmp_path: Path) -> None:
    with ExitStack() as first:
        Mounts(Policy(has_network=False, grants=(Grant(str(tmp_path), Access.WRITE),)), Placeholders(), first, first)
        _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE))
        assert {layers[str(tmp_path / name)] for name in PROTECTED} == {Kind.EMPTY}
        assert sorted(os.listdir(tmp_path)) == sorted(PROTECTED), "the first one still needs them"
    assert os.listdir(tmp_path) == []


def relinked(path: Path) -> None:
    """The same file under the same name, but what was mounted on the name is gone."""
    path.with_name("other").hardlink_to(path)
    path.unlink()
    path.with_name("other").rename(path)


def exchanged(path: Path) -> None:
    path.rename(path.with_name("old"))
    path.mkdir()


def removed_and_made(path: Path) -> None:
    path.rmdir()
    path.mkdir()


def led_elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("hidden")


CHANGES: list[tuple[str, Callable[[Path], object]]] = [
    ("secret", lambda path: path.mkdir()),
    ("hidden", exchanged),
    ("hidden-file", relinked),
    ("work/.git", exchanged),
    ("work/.codex", relinked),
    ("work/.aws", removed_and_made),
    ("work", exchanged),
    ("later", lambda path: path.mkdir()),
    ("link", led_elsewhere),
    ("temporary/.git", lambda path: path.touch()),
]


def furnished(folder: Path) -> Policy:
    for name in ("hidden", "work/.git", "real", "temporary"):
        (folder / name).mkdir(parents=True)
    for name in ("hidden-file", "work/.codex"):
        (folder / name).touch()
    (folder / "link").symlink_to("real")
    grants = {
        **dict.fromkeys(("secret", "hidden", "hidden-file"), Access.DENY),
        **dict.fromkeys(("later", "link", "work"), Access.WRITE),
    }
    temporary = Grant(str(folder / "temporary"), Access.WRITE, is_temporary=True)
    rules = [Grant(str(folder / name), access) for name, access in grants.items()]
    return Policy(has_network=False, grants=(READ_ALL, temporary, *rules))


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=[name for name, _ in CHANGES])
def test_a_change_of_what_a_view_lies_on_is_seen(name: str, change: Callable[[Path], object], tmp_path: Path) -> None:
    policy, places = furnished(tmp_path), Placeholders()
    with ExitStack() as held, ExitStack() as again:
        sight = Mounts(policy, places, held, held).sight
        assert Mounts(policy, places, again, again).sight == sight
        change(tmp_path / name)
        with ExitStack() as later:
            assert Mounts(policy, places, later, later).sight != sight


def test_a_write_to_a_writable_file_is_no_change_of_the_view(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    policy, places = (
        Policy(has_network=False, grants=(READ_ALL, Grant(str(tmp_path / "file"), Access.WRITE))),
        Placeholders(),
    )
    with ExitStack() as held:
        before = Mounts(policy, places, held, held).sight
        (tmp_path / "file").write_text("x")
        (tmp_path / "file").chmod(0o600)
        assert Mounts(policy, places, held, held).sight == before
