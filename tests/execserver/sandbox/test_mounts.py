import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from codex_mcp.execserver.sandbox.bubblewrap import MountKind
from codex_mcp.execserver.sandbox.mounts import DAEMON, PROTECTED, Mounts
from codex_mcp.execserver.sandbox.placeholders import Placeholders
from codex_mcp.execserver.sandbox.policy import SHARED_TEMP, CannotEnforce, Grant, Policy
from codex_mcp.execserver.sandbox.repositories import Repositories
from codex_mcp.wire.exec.sandbox import Access

DAEMON_FOLDER = f"{SHARED_TEMP}/{DAEMON}{os.geteuid()}"


def mount(policy: Policy, held: ExitStack) -> Mounts:
    return Mounts(policy, Placeholders(), Repositories(), held, held)


def mounted(*grants: Grant) -> tuple[MountKind | None, dict[str, MountKind]]:
    """The root and the layers, without the one that every view of the temporary folder has."""
    with ExitStack() as started, ExitStack() as ended:
        mounts = Mounts(Policy(has_network=False, grants=grants), Placeholders(), Repositories(), started, ended)
        return mounts.base, {layer.path: layer.kind for layer in mounts.layers if layer.path != DAEMON_FOLDER}


READ_ALL = Grant("/", Access.READ)


def test_the_root_is_what_the_grant_for_it_says() -> None:
    assert mounted(READ_ALL) == (MountKind.READ, {})
    assert mounted(Grant("/", Access.WRITE))[0] is MountKind.WRITE
    assert mounted()[0] is None
    assert mounted(READ_ALL, Grant("/", Access.DENY))[0] is None


def test_names_with_power_are_protected_in_writable_folders(tmp_path: Path) -> None:
    (tmp_path / ".git/hooks").mkdir(parents=True)
    (tmp_path / ".codex").write_text("")
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE))
    kinds = {name: layers[str(tmp_path / name)] for name in PROTECTED}
    assert kinds == {
        ".git": MountKind.READ,
        ".codex": MountKind.READ,
        ".agents": MountKind.EMPTY,
        ".aws": MountKind.EMPTY,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == [".codex", ".git"], "the placeholders are gone"


def test_a_temporary_folder_is_protected_as_any_other(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE, is_temporary=True))
    assert {layers[str(tmp_path / name)] for name in PROTECTED} == {MountKind.EMPTY}
    assert os.listdir(tmp_path) == [".aws"], "the placeholders are gone"


def test_a_client_may_grant_what_is_protected_otherwise(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE), Grant(str(git), Access.WRITE))
    assert layers[str(git)] is MountKind.WRITE


def test_a_protected_name_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("elsewhere")
    with pytest.raises(CannotEnforce, match="symbolic link"):
        mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE))


def test_a_link_is_followed_before_the_rule_applies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    _, layers = mounted(READ_ALL, Grant(str(tmp_path / "link"), Access.WRITE))
    assert layers[str(tmp_path / "real")] is MountKind.WRITE
    assert str(tmp_path / "link") not in layers


def test_what_is_hidden_is_hidden_whether_folder_or_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    _, layers = mounted(
        READ_ALL, Grant(str(tmp_path / "folder"), Access.DENY), Grant(str(tmp_path / "file"), Access.DENY)
    )
    assert layers == {str(tmp_path / "folder"): MountKind.HIDDEN_FOLDER, str(tmp_path / "file"): MountKind.HIDDEN_FILE}


def test_denial_beats_any_other_rule_for_the_same_path(tmp_path: Path) -> None:
    path = str(tmp_path)
    for grants in [(Access.DENY, Access.WRITE), (Access.READ, Access.DENY)]:
        assert mounted(READ_ALL, *(Grant(path, access) for access in grants))[1] == {path: MountKind.HIDDEN_FOLDER}


def test_what_is_not_there_is_kept_from_being_made_where_that_is_possible(tmp_path: Path) -> None:
    project, missing = Grant(str(tmp_path), Access.WRITE), tmp_path / "secrets"
    assert mounted(READ_ALL, project, Grant(str(missing), Access.DENY))[1][str(missing)] is MountKind.EMPTY
    assert str(missing) not in mounted(READ_ALL, Grant(str(missing), Access.DENY))[1]
    with pytest.raises(CannotEnforce, match="missing"):
        mounted(READ_ALL, project, Grant(str(missing / "deeper"), Access.DENY))
    assert list(tmp_path.iterdir()) == []


def test_the_placeholder_of_another_server_is_shared(tmp_path: Path) -> None:
    with ExitStack() as first:
        Mounts(
            Policy(has_network=False, grants=(Grant(str(tmp_path), Access.WRITE),)),
            Placeholders(),
            Repositories(),
            first,
            first,
        )
        _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE))
        assert {layers[str(tmp_path / name)] for name in PROTECTED} == {MountKind.EMPTY}
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
    ("temporary/.git", removed_and_made),
    ("work/nested/.git", exchanged),
]


def furnished(folder: Path) -> Policy:
    for name in ("hidden", "work/.git", "work/nested/.git", "real", "temporary"):
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
    policy, places, repositories = furnished(tmp_path), Placeholders(), Repositories()
    with ExitStack() as held, ExitStack() as again:
        fingerprint = Mounts(policy, places, repositories, held, held).fingerprint
        assert Mounts(policy, places, repositories, again, again).fingerprint == fingerprint
        change(tmp_path / name)
        with ExitStack() as later:
            assert Mounts(policy, places, repositories, later, later).fingerprint != fingerprint


def test_a_write_to_a_writable_file_is_no_change_of_the_view(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    policy = Policy(has_network=False, grants=(READ_ALL, Grant(str(tmp_path / "file"), Access.WRITE)))
    places, repositories = Placeholders(), Repositories()
    with ExitStack() as held:
        before = Mounts(policy, places, repositories, held, held).fingerprint
        (tmp_path / "file").write_text("x")
        (tmp_path / "file").chmod(0o600)
        assert Mounts(policy, places, repositories, held, held).fingerprint == before


def writable(folder: Path) -> dict[str, MountKind]:
    """What a view makes of a project folder: the layers inside it, by their relative paths."""
    _, layers = mounted(READ_ALL, Grant(str(folder), Access.WRITE))
    return {os.path.relpath(path, folder): kind for path, kind in layers.items() if not path.endswith(PROTECTED[1:])}


def pointer(file: Path, target: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"gitdir: {target}\n")


def test_the_git_directory_behind_a_pointer_is_read_only(tmp_path: Path) -> None:
    (tmp_path / ".bare/hooks").mkdir(parents=True)
    for target in ("./.bare", ".bare", str(tmp_path / ".bare"), f"{tmp_path}/x/../.bare"):
        (tmp_path / "x").mkdir(exist_ok=True)
        pointer(tmp_path / ".git", target)
        assert writable(tmp_path) == {".": MountKind.WRITE, ".git": MountKind.READ, ".bare": MountKind.READ}


def test_a_pointer_to_a_pointer_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".bare").mkdir()
    pointer(tmp_path / ".git", "first")
    pointer(tmp_path / "first", "second")
    pointer(tmp_path / "second", ".bare")
    read_only = dict.fromkeys((".git", "first", "second", ".bare"), MountKind.READ)
    assert writable(tmp_path) == {".": MountKind.WRITE, **read_only}


def test_no_folder_on_the_way_to_a_git_directory_can_be_moved(tmp_path: Path) -> None:
    (tmp_path / "a/b/bare").mkdir(parents=True)
    pointer(tmp_path / ".git", "a/b/bare")
    assert writable(tmp_path) == {
        ".": MountKind.WRITE,
        ".git": MountKind.READ,
        "a": MountKind.WRITE,
        "a/b": MountKind.WRITE,
        "a/b/bare": MountKind.READ,
    }


def test_a_missing_git_directory_cannot_be_made(tmp_path: Path) -> None:
    pointer(tmp_path / ".git", "a/b")
    assert writable(tmp_path) == {".": MountKind.WRITE, ".git": MountKind.READ, "a": MountKind.EMPTY}
    assert os.listdir(tmp_path) == [".git"]


def test_what_worktrees_share_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "bare/worktrees/w").mkdir(parents=True)
    (tmp_path / "bare/worktrees/w/commondir").write_text("../..\n")
    pointer(tmp_path / "tree/.git", "../bare/worktrees/w")
    assert writable(tmp_path) == {
        ".": MountKind.WRITE,
        ".git": MountKind.EMPTY,
        "tree/.git": MountKind.READ,
        "bare": MountKind.READ,
    }
    granted = Grant(str(tmp_path / "bare"), Access.WRITE)
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE), granted)
    assert MountKind.READ not in layers.values(), "the client has granted this very repository"


def test_nested_repositories_and_submodules_are_read_only(tmp_path: Path) -> None:
    for name in (".git/modules/sub", "lib/one/.git/hooks", "node_modules/x/.git"):
        (tmp_path / name).mkdir(parents=True)
    pointer(tmp_path / "sub/.git", "../.git/modules/sub")
    assert writable(tmp_path) == {
        ".": MountKind.WRITE,
        ".git": MountKind.READ,
        "sub/.git": MountKind.READ,
        "lib/one/.git": MountKind.READ,
    }, "nothing is mounted inside .git, which is read-only as a whole"


def test_a_repository_in_a_writable_folder_below_a_read_only_one_is_read_only(tmp_path: Path) -> None:
    repository = tmp_path / "docs/drafts/repository/.git"
    repository.mkdir(parents=True)
    rules = [
        Grant(str(tmp_path), Access.WRITE),
        Grant(str(tmp_path / "docs"), Access.READ),
        Grant(str(tmp_path / "docs/drafts"), Access.WRITE),
    ]
    assert mounted(READ_ALL, *rules)[1][str(repository)] is MountKind.READ


def test_a_repository_in_a_hidden_folder_stays_hidden(tmp_path: Path) -> None:
    (tmp_path / "s/repository/.git").mkdir(parents=True)
    _, layers = mounted(READ_ALL, Grant(str(tmp_path), Access.WRITE), Grant(str(tmp_path / "s"), Access.DENY))
    assert str(tmp_path / "s/repository/.git") not in layers


def test_what_is_no_pointer_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for content in ("", "gitdir:", "gitdir: .", "gitdir: a\nb", "src", "gitdir: " + "x/" * 5000):
        (tmp_path / ".git").write_text(content)
        assert writable(tmp_path) == {".": MountKind.WRITE, ".git": MountKind.READ}
    (tmp_path / ".git").unlink()
    os.mkfifo(tmp_path / ".git")
    assert writable(tmp_path) == {".": MountKind.WRITE, ".git": MountKind.READ}


def test_a_link_that_a_sandbox_could_have_made_grants_nothing(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    project, output = Grant(str(tmp_path / "work"), Access.WRITE), Grant(str(tmp_path / "work/out"), Access.WRITE)
    before = mounted(READ_ALL, project, output)
    (tmp_path / "work/out").symlink_to("../home")
    assert mounted(READ_ALL, project, output) == before
    assert mounted(READ_ALL, output)[1][str(tmp_path / "home")] is MountKind.WRITE, "nobody else can write to that link"


def test_what_is_granted_inside_a_hidden_folder_is_laid_into_it(tmp_path: Path) -> None:
    (tmp_path / "hidden/read").mkdir(parents=True)
    (tmp_path / "hidden/write").touch()
    hidden = Grant(str(tmp_path / "hidden"), Access.DENY)
    inner = [Grant(str(tmp_path / "hidden" / word), Access(word)) for word in ("read", "write")]
    assert mounted(READ_ALL, hidden, *inner)[1] == {
        str(tmp_path / "hidden"): MountKind.HIDDEN_FOLDER,
        str(tmp_path / "hidden/read"): MountKind.READ,
        str(tmp_path / "hidden/write"): MountKind.WRITE,
    }


def test_the_folder_of_codexs_daemon_is_hidden_wherever_it_would_be_seen() -> None:
    with ExitStack() as held:
        for grants in ([READ_ALL], [READ_ALL, Grant(SHARED_TEMP, Access.WRITE, is_temporary=True)]):
            layers = Mounts(
                Policy(has_network=True, grants=tuple(grants)), Placeholders(), Repositories(), held, held
            ).layers
            assert {layer.path: layer.kind for layer in layers}[DAEMON_FOLDER] is MountKind.HIDDEN_FOLDER
        little = Mounts(
            Policy(has_network=True, grants=(Grant("/usr", Access.READ),)), Placeholders(), Repositories(), held, held
        ).layers
        assert [layer.path for layer in little] == ["/usr"]
