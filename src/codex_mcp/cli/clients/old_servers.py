"""Pure. Recognises the servers that codex-mcp replaces, in a command line as a client's file has it.

    codex [-c …] mcp-server             removed from Codex; so are the older `codex mcp` and `codex mcp serve`
    codex-mcp-server (npm)              the session wrapper, with the tools codex, review, listSessions …
    @cexll/codex-mcp-server, codex-as-mcp, codexmcp, @trishchuk/codex-mcp-tool     bridges with other tools

Each may be started by a path, by npx, bunx, pnpm, yarn, uvx or pipx, through `env` or by a shell.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.cli.clients.entries import SERVING


class Kind(StrEnum):
    """What an old entry starts."""

    CODEX = "codex mcp-server"
    SESSIONS = "session wrapper"
    BRIDGE = "bridge"


class Old(Struct, frozen=True):
    """An old server: what replaces its arguments, and what must be known about it."""

    kind: Kind
    args: list[str]
    environment: dict[str, str] = {}
    """Variables that its command line sets, for the entry's `env`."""

    notes: tuple[str, ...] = ()


_RUNNERS: Final = {
    "bun": ("-p", "--package"),
    "bunx": ("-p", "--package"),
    "cmd": (),
    "node": ("-r", "--require"),
    "npm": ("-p", "--package"),
    "npx": ("-p", "--package", "--registry"),
    "pipx": ("--spec", "--python", "--pip-args"),
    "pnpm": ("--package",),
    "python": (),
    "python3": (),
    "uv": ("--from", "--with", "-p", "--python", "--index", "--directory"),
    "uvx": ("--from", "--with", "-p", "--python", "--index"),
    "yarn": ("-p", "--package"),
}
"""Programs that start another one, with their flags that take a value."""

_RUN: Final = frozenset({"dlx", "exec", "run", "tool", "x"})
"""Commands of these programs that start another one."""

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_PASSING: Final = frozenset({"nohup", "exec", "command", "time", "setsid"})
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)

_SESSIONS: Final = frozenset({"codex-mcp-server"})
_BRIDGES: Final = frozenset(
    {
        "@cexll/codex-mcp-server",
        "@trishchuk/codex-mcp-tool",
        "codex-as-mcp",
        "codex-mcp-tool",
        "codex_as_mcp",
        "codexmcp",
    }
)
_CODEX: Final = frozenset({"codex", "codex.js", "@openai/codex"})

_KEPT: Final = {
    "-c": "-c",
    "--config": "-c",
    "-p": "-p",
    "--profile": "-p",
    "--enable": "--enable",
    "--disable": "--disable",
}
"""Flags of Codex that our server has too."""

_AS_CONFIG: Final = {
    "-m": "model",
    "--model": "model",
    "-s": "sandbox_mode",
    "--sandbox": "sandbox_mode",
    "-a": "approval_policy",
    "--ask-for-approval": "approval_policy",
}
"""Flags of Codex for keys of its config.toml."""

_WITH_VALUE: Final = frozenset({*_KEPT, *_AS_CONFIG, "-C", "--cd", "--add-dir", "-i", "--image", "--local-provider"})


def old_server(words: Sequence[str], *, is_ours: bool = False) -> Old | None:
    """What this command line starts, if it is an old server.

    `is_ours` says that its `codex-mcp-server` is the program of this name that comes with codex-mcp.
    """
    environment: dict[str, str] = {}
    rest = _unwrapped(list(words), environment)
    if not rest:
        return None
    program = _program(rest[0])
    if program in _CODEX:
        return _codex(rest[1:], environment)
    if program in _SESSIONS and not is_ours:
        return Old(Kind.SESSIONS, ["mcp-server", "--tools", "sessions"], environment, _ignored(rest[1:]))
    if program in _BRIDGES:
        return Old(
            Kind.BRIDGE,
            ["mcp-server"],
            environment,
            (*_ignored(rest[1:]), "its tools had other names, so prompts that name them must change"),
        )
    return None


def _program(word: str) -> str:
    """The name of a program: without its folder, or as a package without its version."""
    if word.startswith("@"):
        scope, _, name = word.partition("/")
        return f"{scope}/{name.partition('@')[0]}"
    if word.endswith("codex-mcp-server/dist/index.js"):
        return "codex-mcp-server"
    name = posixpath.basename(word.replace("\\", "/")).partition("@")[0]
    return name.removesuffix(".exe").removesuffix(".cmd")


def _unwrapped(words: list[str], environment: dict[str, str]) -> list[str]:
    """The words of the server itself, without what starts it. Fills in the variables that are set on the way."""
    while words:
        name = posixpath.basename(words[0])
        if assigned := _ASSIGNMENT.fullmatch(words[0]):
            environment[assigned[1]] = assigned[2]
            words = words[1:]
        elif name == "env":
            words = _after_env(words[1:])
        elif name in _PASSING:
            words = words[1:]
        elif name in _SHELLS and len(words) > 1:
            words = _shell_words(words[1:])
        elif name in _RUNNERS:
            words = _after_runner(words[1:], _RUNNERS[name])
        else:
            return words
    return []


def _after_env(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        flag = words[0]
        if flag in ("-S", "--split-string") and len(words) > 1:
            return [*_split(words[1]), *words[2:]]
        words = words[2:] if flag in ("-u", "--unset", "-C", "--chdir") else words[1:]
    return words


def _shell_words(words: list[str]) -> list[str]:
    """The words of `-c "…"`; of a script, nothing is known."""
    for number, word in enumerate(words):
        if re.fullmatch(r"-[a-z]*c", word) and number + 1 < len(words):
            found = _split(words[number + 1])
            # More than one command: what else it does would be lost.
            return [] if {"&&", "||", "|", ";", "&"} & set(found) or "\n" in words[number + 1].strip() else found
        if not word.startswith("-"):
            return []
    return []


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _after_runner(words: list[str], with_value: Sequence[str]) -> list[str]:
    while words:
        word = words[0]
        if word in with_value:
            words = words[2:]
        elif word.startswith("-") or word.lower() == "/c" or word in _RUN:
            words = words[1:]
        else:
            break
    return words


def _codex(words: list[str], environment: dict[str, str]) -> Old | None:
    """`codex` with these words, if it is its MCP server."""
    kept: list[str] = []
    notes: list[str] = []
    command: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            command.append(word)
            continue
        flag, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if flag in _WITH_VALUE and not has_value:
            value = rest.pop(0) if rest else ""
        if flag in _KEPT:
            kept += [_KEPT[flag], value]
        elif flag in _AS_CONFIG:
            kept += ["-c", f'{_AS_CONFIG[flag]}="{value}"']
        else:
            notes.append(f"{flag} is left out")
    if command not in (["mcp-server"], ["mcp"], ["mcp", "serve"]):
        return None
    return Old(Kind.CODEX, ["mcp-server", *kept], environment, tuple(notes))


def _ignored(words: Sequence[str]) -> tuple[str, ...]:
    flags = [word for word in words if word not in SERVING]
    return (f"{shlex.join(flags)} is left out",) if flags else ()
