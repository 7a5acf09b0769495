"""Pure. The environment of a process: the server's own, filtered by the policy, plus the request's variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from codex_mcp.wire.exec.protocol import EnvPolicy, Inherit

CORE: Final = frozenset(
    {"PATH", "SHELL", "TMPDIR", "TEMP", "TMP", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER"}
)
"""What the policy `core` inherits."""

SECRETS: Final = ("*KEY*", "*SECRET*", "*TOKEN*")
"""Names that are inherited only with `ignoreDefaultExcludes`."""

NEVER: Final = frozenset(
    {
        "CODEX_ACCESS_TOKEN",
        "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
        "CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
        "CODEX_MCP_RENDEZVOUS_TOKEN",
        "NODE_REPL_AUTH_TOKEN",
        "OPENAI_FEDERATION_RULE_ID",
        "OPENAI_IDENTITY_TOKEN_FILE",
        "OPENAI_WORKLOAD_IDENTITY_CONTEXT",
    }
)
"""What no process gets, even on request: the server's own credentials."""


def child_environment(own: Mapping[str, str], policy: EnvPolicy | None, given: Mapping[str, str]) -> dict[str, str]:
    """The environment of a new process. Without a policy it is just what the request gives."""
    result = {**_inherited(own, policy), **given} if policy is not None else dict(given)
    return {
        name: value
        for name, value in (_as_the_child_sees(*item) for item in result.items())
        if name and name.upper() not in NEVER
    }


def _as_the_child_sees(name: str, value: str) -> tuple[str, str]:
    """A child splits at the first "=", so a name with "=" in it must not hide a forbidden name."""
    return name.split("=", 1)[0], f"{name}={value}".split("=", 1)[1]


def _inherited(own: Mapping[str, str], policy: EnvPolicy) -> dict[str, str]:
    match policy.inherit:
        case Inherit.ALL:
            names: Iterable[str] = own
        case Inherit.CORE:
            names = [name for name in own if name.upper() in CORE]
        case Inherit.NONE:
            names = ()
    is_excluded = _matcher((() if policy.ignore_default_excludes else SECRETS) + tuple(policy.exclude))
    result = {name: own[name] for name in names if not is_excluded(name)}
    result.update(policy.set)
    if policy.include_only:
        is_included = _matcher(policy.include_only)
        result = {name: value for name, value in result.items() if is_included(name)}
    return result


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A test whether a name matches one of the patterns, which have `*` and `?`; case is ignored."""
    wanted = [re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") for pattern in patterns]
    if not wanted:
        return lambda _name: False
    expression = re.compile("|".join(wanted), re.IGNORECASE | re.DOTALL)
    return lambda name: expression.fullmatch(name) is not None
