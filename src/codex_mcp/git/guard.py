"""Pure. The environment in which git runs nothing that a repository chooses: no hooks, filters, monitors or helpers.

Until the user trusts its folder, a repository may come from anywhere. Its `.git/config` and `.gitattributes` may name
programs, and even `git status` would run some of them. Settings in the environment win over those of all files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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

UNTRUSTED: Final = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false", "diff.submodule": "short"}

FILTER: Final = "filter."
HOOK: Final = "hook."
OWN_SCOPES: Final = ("local", "worktree")
"""What `git config --show-scope` calls the files that belong to the repository. Others are the user's."""


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


def allowed(listed: bytes, *, is_trusted: bool) -> dict[str, str]:
    """The settings that count, from `git config --list --show-scope -z`."""
    return {
        key: value
        for scope, key, value in _entries(listed)
        if key in ALLOWED or (key.startswith(FILTER) and (is_trusted or scope not in OWN_SCOPES))
    }


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
    return _with_settings(given, {**settings, **ALWAYS, **UNTRUSTED}) | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
    }


def environment(given: Mapping[str, str], own: Iterable[str] | None) -> dict[str, str]:
    """The environment for git in a repository that has these programs of its own (`own_programs`); None if the user
    trusts it."""
    if own is None:
        return _with_settings(given, ALWAYS)
    settings = {**ALWAYS, **UNTRUSTED}
    for name in own:
        if name.startswith(HOOK):  # git 2.54 and later
            settings[f"{name}.enabled"] = "false"
        else:
            settings |= {f"{name}.{key}": "" for key in ("clean", "smudge", "process")}
            settings[f"{name}.required"] = "false"
    # An incomplete clone would otherwise fetch what is missing, with a program that its settings name.
    return _with_settings(given, settings) | {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}


def _with_settings(given: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in given.items() if not name.startswith("GIT_")}
    kept |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
    kept["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return kept


def may_have_programs(config: bytes) -> bool:
    """Whether a repository's configuration file can define a filter or a hook, itself or in a file that it includes."""
    text = config.lower()
    return b"filter" in text or b"hook" in text or b"include" in text


def own_programs(listed: bytes) -> set[str]:
    """The filters and hooks that a repository defines, by `git config --list --show-scope --name-only -z`."""
    words = listed.decode(errors="surrogateescape").split("\0")
    names = {key for scope, key in zip(words[::2], words[1::2], strict=False) if scope in OWN_SCOPES}
    return {key.rpartition(".")[0] for key in names if key.startswith((FILTER, HOOK))}
