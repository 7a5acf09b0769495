"""Pure. The environment in which git runs nothing that a repository chooses: no hooks, filters, monitors or helpers.

A repository may come from anywhere. Its `.git/config` and `.gitattributes` may name programs, and even `git status`
would run some of them. That the user trusts a repository changes nothing: the programs that it names are often scripts
among its files, which agents write. There are two ways to run git:

    lookups     only LOOKUPS, with the repository's settings
    sealed      everything, in a git folder of ours, with ALLOWED settings only
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

ALWAYS: Final = {
    "advice.addEmbeddedRepo": "false",
    "core.quotePath": "false",
    "color.ui": "false",
    "diff.mnemonicPrefix": "false",
    "diff.noprefix": "false",
    "diff.relative": "false",
    "gc.auto": "0",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
"""Settings for every repository: what we read must look the same everywhere, and nothing may go on afterwards."""

NO_PROGRAMS: Final = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false", "diff.submodule": "short"}

NO_DOWNLOADS: Final = {"lfs.url": "file:///dev/null", "lfs.skipDownloadErrors": "true"}
"""Git LFS would take the address of its server from `.lfsconfig`, which agents write. It checks out what is stored
here, and of other files the pointer."""

FILTER: Final = "filter."
PROGRAMS: Final = ("clean", "smudge", "process")
OBJECT_FORMAT: Final = "extensions.objectformat"
OWN_SCOPES: Final = ("local", "worktree")
"""What `git config --show-scope` calls the files that belong to the repository. Others are the user's."""


LOOKUPS: Final = frozenset(
    {
        *("cat-file", "config", "for-each-ref", "ls-tree", "merge-base", "remote", "rev-list", "rev-parse"),
        "symbolic-ref",
    }
)
"""What git may do with the settings of a repository. None of it looks at the files of a checkout or changes anything,
so no filter, converter, diff program or hook can run; what does, runs sealed, in a git folder of ours."""

ALLOWED: Final = frozenset(
    {
        *("core.autocrlf", "core.eol", "core.safecrlf", "core.filemode", "core.symlinks", "core.ignorecase"),
        *("core.precomposeunicode", "core.checkstat", "core.trustctime", "core.excludesfile", "core.attributesfile"),
        *("core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse", "diff.algorithm", "diff.renamelimit"),
        *("user.name", "user.email"),
    }
)
"""All settings of a repository that count where git runs sealed: how files are compared, and nothing that names a
program. The user's own configuration can also define filters, such as that of Git LFS."""


def allowed(listed: bytes, *, away: str) -> dict[str, str]:
    """The settings that count, from `git config --list --show-scope -z`.

    Filters of the user run in the folder `away`, not among the files: `python -m x` would take its program from there.
    """
    return {
        key: _run_in(away, key, value) if key.startswith(FILTER) else value
        for scope, key, value in _entries(listed)
        if key in ALLOWED or (key.startswith(FILTER) and scope not in OWN_SCOPES)
    }


def _run_in(folder: str, key: str, command: str) -> str:
    name = key.rpartition(".")[2]
    if name not in PROGRAMS or not command:
        return command
    place = shlex.quote(folder)
    return f"cd {place if name == 'process' else place.replace('%', '%%')} && {command}"


def format_of(listed: bytes) -> str:
    """The configuration of a git folder that names objects as this repository does, from the same list."""
    named = [value for key, value in own_settings(listed) if key == OBJECT_FORMAT]
    if not named or named[-1].lower() != "sha256":
        return "[core]\n\trepositoryFormatVersion = 0\n"
    return "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n"


def own_settings(listed: bytes) -> list[tuple[str, str]]:
    """All settings of the repository itself, from the same list."""
    return [(key, value) for scope, key, value in _entries(listed) if scope in OWN_SCOPES]


def _entries(listed: bytes) -> Iterator[tuple[str, str, str]]:
    words = listed.decode(errors="surrogateescape").split("\0")
    for scope, entry in zip(words[::2], words[1::2], strict=False):
        key, is_set, value = entry.partition("\n")
        yield scope, key, value if is_set else "true"


def sealed(given: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """The environment for git that reads no configuration file of the user: these settings are all there is."""
    return _with_settings(given, {**settings, **ALWAYS, **NO_PROGRAMS, **NO_DOWNLOADS}) | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
    }


def lookups(given: Mapping[str, str]) -> dict[str, str]:
    """The environment for LOOKUPS."""
    # An incomplete clone would otherwise fetch what is missing, with a program that its settings name.
    unfetched = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    return _with_settings(given, {**ALWAYS, **NO_PROGRAMS}) | unfetched


def _with_settings(given: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in given.items() if not name.startswith("GIT_")}
    kept |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
    if "PATH" in kept:  # git runs in folders that others write, where `.` is a place for their programs
        kept["PATH"] = ":".join(filter(posixpath.isabs, kept["PATH"].split(":")))
    kept["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return kept
