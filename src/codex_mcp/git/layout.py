"""The three git folders of a worktree, and git for each of them. Blocks.

    folder/             the sandbox shows it to the agent read-only, so nothing in it can be renamed
        tree/           the agent's files
            .git/       the view: what everyone outside of the sandbox sees. Hidden in the sandbox
        .git/           the agent's own repository, which git in the sandbox finds in the place of the view
        server.git/     for our own runs of git

The view has the branches and objects of the user's repository by links, and settings of its own, none of which names a
program: the user's may name one that is among the agent's files. The agent's repository borrows objects (`alternates`)
and has all else of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from codex_mcp.base.disk.scratch import scratch_folder
from codex_mcp.base.files import read_if_there, write_passing, write_whole
from codex_mcp.base.printable import one_line
from codex_mcp.git import guard
from codex_mcp.git.agent_files import ALTERNATES, unsafe_object
from codex_mcp.git.comparing import NO_BRANCH
from codex_mcp.git.running import CHECKOUT_PATIENCE, Git, GitFailed
from codex_mcp.git.worktree import HEADS, PREFIX, Worktree

COPIED: Final = ("heads", "tags", "remotes", "replace")
"""References of the user's repository that the agent gets a copy of, so that it can compare and merge."""

LINKED: Final = ("objects", "refs", "logs/refs", "packed-refs", "shallow", "reftable", "lfs")
"""What the view has of the user's repository."""

REFERENCES: Final = ("objects", "refs", "packed-refs", "reftable")
"""What a change of branches needs of it: all but the logs."""

REMOTE: Final = (("remote.", (".url", ".pushurl", ".fetch")), ("branch.", (".remote", ".merge")))
"""Settings of the user's repository that the view has as well, so that its branches can be pushed."""

VIEW: Final = "\thooksPath = /dev/null\n\tfsmonitor = false\n\tlogAllRefUpdates = true\n"
AGENTS: Final = "\tworktree = ../tree\n\tlogAllRefUpdates = true\n"

NO_UPKEEP: Final = (("gc.auto", "0"), ("gc.pruneExpire", "never"), ("maintenance.auto", "false"))
"""The view does not know the user's index and other worktrees, so it must not remove objects."""

NO_SUBMODULES: Final = (
    ("diff.ignoreSubmodules", "all"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
)
"""git would run with the settings of a repository that the agent has made among its files."""

GITLINK: Final = b"160000"
"""The mode of a submodule."""

SHA1_DIGITS: Final = 40

SHORT_PACKS: Final = {"pack.threads": "1", "pack.windowMemory": "256m", "pack.writeReverseIndex": "false"}
"""What the agent has written is packed with little memory."""


NO_SHORTCUTS: Final = {"core.commitGraph": "false", "core.multiPackIndex": "false", "pack.useBitmaps": "false"}
"""Files beside the agent's objects that would tell git what is in them. No id protects what they say."""


def lay_out(worktree: Worktree) -> None:
    """Make the folders of a worktree whose branch exists, without the agent's files. Raises GitFailed, OSError."""
    user = repository(worktree)
    listed = user.ask("config", "--list", "--show-scope", "-z")
    settings = [(key, value) for key, value in guard.own_settings(listed) if key in guard.ALLOWED]
    remotes = [(key, value) for key, value in guard.own_settings(listed) if _is_remote(key)]
    extensions = _extensions(worktree)
    os.mkdir(worktree.folder, 0o700)
    os.mkdir(worktree.path, 0o700)
    _git_folder(worktree.server_git, _config(extensions[:1]))
    write_whole(f"{worktree.server_git}/HEAD", f"{worktree.tip}\n".encode())
    _view(worktree, _config(extensions, [*settings, *remotes, *NO_UPKEEP, *NO_SUBMODULES]) + VIEW)
    _git_folder(worktree.own_git, _config(extensions[:1], settings) + AGENTS)
    write_whole(f"{worktree.own_git}/{ALTERNATES}", _alternates(worktree))
    refs = user.ask("for-each-ref", "--format=%(objectname) %(refname)", *(f"refs/{name}" for name in COPIED))
    for git in (worktree.own_git, worktree.server_git):
        write_whole(f"{git}/packed-refs", refs)
    write_whole(f"{worktree.own_git}/HEAD", f"ref: {worktree.ref}\n".encode())
    _copy(worktree, "shallow", worktree.own_git)
    for name in ("info/exclude", "info/attributes"):
        for git in (worktree.own_git, worktree.view, worktree.server_git):
            _copy(worktree, name, git)


def _view(worktree: Worktree, config: str) -> None:
    for folder in ("", "/info", "/logs"):
        os.mkdir(worktree.view + folder, 0o700)
    for name in LINKED:
        os.symlink(os.path.join(worktree.common, name), os.path.join(worktree.view, name))
    os.makedirs(os.path.join(worktree.common, "logs", "refs"), exist_ok=True)
    write_whole(f"{worktree.view}/config", config.encode(errors="surrogateescape"))
    write_head(worktree, worktree.ref, worktree.tip)


def _is_remote(key: str) -> bool:
    return any(key.startswith(first) and key.endswith(last) for first, last in REMOTE)


def _extensions(worktree: Worktree) -> list[tuple[str, str]]:
    """How the user's repository keeps objects and references, where that is not the usual way; objects first."""
    formatted = "sha1" if len(worktree.base) == SHA1_DIGITS else "sha256"
    has_tables = os.path.isdir(os.path.join(worktree.common, "reftable"))
    stored = [("extensions.refStorage", "reftable")] if has_tables else []
    return [("extensions.objectFormat", formatted), *stored]


def _config(extensions: Sequence[tuple[str, str]], settings: Sequence[tuple[str, str]] = ()) -> str:
    """A configuration, to which settings of the section `core` can be added."""
    needed = [(key, value) for key, value in extensions if value != "sha1"]
    lines = []
    for key, value in (*needed, *settings):
        section, _, name = key.rpartition(".")
        first, is_long, rest = section.partition(".")
        lines.append(f'[{first} "{_quoted(rest)}"]' if is_long else f"[{first}]")
        lines.append(f'\t{name} = "{_quoted(value)}"')
    version = 1 if needed else 0
    return "\n".join([*lines, "[core]", f"\trepositoryFormatVersion = {version}", "\tbare = false\n"])


def _quoted(value: str) -> str:
    text = "".join(letter for letter in value if letter.isprintable())
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _git_folder(path: str, config: str) -> None:
    for folder in ("", "/objects", "/objects/info", "/objects/pack", "/refs", "/refs/heads", "/info"):
        os.mkdir(path + folder, 0o700)
    write_whole(f"{path}/config", config.encode(errors="surrogateescape"))


def _copy(worktree: Worktree, name: str, git: str) -> None:
    with contextlib.suppress(OSError):
        data = read_if_there(os.path.join(worktree.common, name))
        if data is not None:
            write_whole(os.path.join(git, name), data)


def repository(worktree: Worktree) -> Git:
    """git that looks at the user's repository as a whole, and not into the worktree."""
    return Git(worktree.common, places={"GIT_DIR": worktree.common})


@contextlib.contextmanager
def branches_of(worktree: Worktree) -> Iterator[Git]:
    """git that sets branches of the user's repository, within this block. Raises GitFailed, OSError.

    It reads none of its settings, and knows none of its logs: git would append to a log that is a link to any file, and
    whoever has made the repository may have put one there.
    """
    for name in (HEADS, HEADS + PREFIX):
        if os.path.islink(folder := os.path.join(worktree.common, name.rstrip("/"))):
            raise GitFailed(
                f"{folder} is a link, which git would follow out of the repository; put a folder in its place"
            )
    with scratch_folder(os.path.dirname(os.path.dirname(worktree.folder))) as folder:
        for name in REFERENCES:
            os.symlink(os.path.join(worktree.common, name), os.path.join(folder, name))
        write_passing(f"{folder}/config", f"{_config(_extensions(worktree))}\tlogAllRefUpdates = false\n".encode())
        write_passing(f"{folder}/HEAD", NO_BRANCH)
        yield Git.sealed(worktree.common, {"GIT_DIR": folder}, {})


def in_view(worktree: Worktree, settings: Mapping[str, str]) -> Git:
    """git for the files and branches as everyone outside of the sandbox sees them."""
    places = {"GIT_DIR": worktree.view, "GIT_WORK_TREE": worktree.path}
    return Git.sealed(worktree.path, places, settings)


def settings_of(worktree: Worktree) -> dict[str, str]:
    """The settings that count for the agent's files."""
    listed = repository(worktree).ask("config", "--list", "--show-scope", "-z")
    return guard.allowed(listed, away=worktree.server_git)


def _alternates(worktree: Worktree) -> bytes:
    return os.fsencode(f"{worktree.common}/objects\n")


def why_unread(worktree: Worktree) -> str | None:
    """Why git must not read the objects that the agent has written; None if it may."""
    found = unsafe_object(worktree.own_git, _alternates(worktree))
    if found is None:
        return None
    place = f"{worktree.own_git}/{one_line(found)}"
    return f"a repository that git must not read: {place} is not what git writes there; delete it"


def ours(worktree: Worktree, *, agents_objects: bool = False, index: str | None = None) -> Git:
    """git with settings of ours alone, on the agent's files. It writes no objects.

    It reads the objects of the user's repository; with `agents_objects` also those that the agent has written, none of
    which is checked. Raises GitFailed if there is anything among those that git would wait for or follow.
    """
    if agents_objects and (why := why_unread(worktree)):
        raise GitFailed(f"the agent has {why}")
    stores = [f"{worktree.common}/objects", *([f"{worktree.own_git}/objects"] if agents_objects else [])]
    places = {
        "GIT_DIR": worktree.server_git,
        "GIT_WORK_TREE": worktree.path,
        "GIT_INDEX_FILE": index or f"{worktree.server_git}/index",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(map(_path, stores)),
        "GIT_SHALLOW_FILE": f"{worktree.common}/shallow",
    }
    folder = worktree.path if os.path.isdir(worktree.path) else worktree.folder
    return Git.sealed(folder, places, settings_of(worktree) | SHORT_PACKS | NO_SHORTCUTS)


def receiving(worktree: Worktree) -> Git:
    """git with settings of ours alone, which adds objects to the user's repository and sees no others."""
    places = {"GIT_DIR": worktree.server_git, "GIT_OBJECT_DIRECTORY": f"{worktree.common}/objects"}
    places["GIT_SHALLOW_FILE"] = f"{worktree.common}/shallow"
    return Git.sealed(worktree.folder, places, SHORT_PACKS)


def _path(store: str) -> str:
    """As in a list of paths: quoted, if it has a colon."""
    return f'"{_quoted(store)}"' if os.pathsep in store or store.startswith('"') else store


def branch_state(git: Git, branch: str) -> tuple[str | None, str | None]:
    """The commit of a branch, and the folder in which it is checked out; None where there is none."""
    told = git.line("for-each-ref", "--format=%(objectname) %(worktreepath)", HEADS + branch) if branch else None
    if told is None:
        return None, None
    commit, _, where = told.partition(" ")
    return commit, where or None


def has_submodules(git: Git, commit: str) -> bool:
    """Whether there are nested repositories among the files of a commit. In an index, they make git run programs with
    the settings that it finds in their folders, which agents write. Raises GitFailed."""
    listed = git.ask("ls-tree", "-r", "-z", "--format=%(objectmode)", commit, patience=CHECKOUT_PATIENCE)
    return GITLINK in listed.split(b"\0")


def write_head(worktree: Worktree, ref: str | None, commit: str) -> None:
    """Set what the view has checked out."""
    write_whole(f"{worktree.view}/HEAD", f"{commit if ref is None else f'ref: {ref}'}\n".encode())


def fill_index(git: Git, commit: str) -> None:
    """Make the index that of a commit. Raises GitFailed."""
    ran = git.run("read-tree", commit)
    if ran.code:
        raise GitFailed(f"git cannot read the commit {commit}: {ran.errors}")
    git.run("update-index", "-q", "--really-refresh")
