"""Pure. The environment in which git runs nothing that a repository chooses: no hooks, filters, monitors or helpers.

Until the user trusts its folder, a repository may come from anywhere. Its `.git/config` and `.gitattributes` may name
programs, and even `git status` would run some of them. Settings in the environment win over those of all files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

UNTRUSTED: Final = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false"}

FILTER: Final = "filter."
OWN_SCOPES: Final = ("local", "worktree")
"""What `git config --show-scope` calls the files that belong to the repository. Others are the user's."""


def environment(given: Mapping[str, str], drivers: Iterable[str] | None) -> dict[str, str]:
    """The environment for git in a repository with these filter drivers of its own; None if the user trusts it."""
    kept = {name: value for name, value in given.items() if not name.startswith("GIT_")}
    settings = dict(ALWAYS)
    if drivers is not None:
        settings |= UNTRUSTED
        for driver in drivers:
            settings |= {f"{FILTER}{driver}.{key}": "" for key in ("clean", "smudge", "process")}
            settings[f"{FILTER}{driver}.required"] = "false"
        # An incomplete clone would otherwise fetch what is missing, with a program that its settings name.
        kept |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    kept |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
    kept["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return kept


def may_have_drivers(config: bytes) -> bool:
    """Whether a repository's configuration file can define a filter, itself or in a file that it includes."""
    text = config.lower()
    return b"filter" in text or b"include" in text


def own_drivers(listed: bytes) -> set[str]:
    """The filter drivers that a repository defines, by `git config --list --show-scope --name-only -z`."""
    words = listed.decode(errors="surrogateescape").split("\0")
    names = {key for scope, key in zip(words[::2], words[1::2], strict=False) if scope in OWN_SCOPES}
    return {key.removeprefix(FILTER).rpartition(".")[0] for key in names if key.startswith(FILTER)}
