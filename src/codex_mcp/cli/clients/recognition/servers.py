"""Pure. Recognises codex-mcp, and the servers that it replaces, in a command line as a client's file has it.

codex [-c …] mcp-server             removed from Codex; so are the older `codex mcp` and `codex mcp serve`
codex-mcp-server (npm)              the session wrapper, with the tools codex, review, listSessions …
@cexll/codex-mcp-server, codex-as-mcp, codexmcp, @trishchuk/codex-mcp-tool     bridges with other tools

the command line                                            is
----------------------------------------------------------  ------------------------------------------------
starts codex-mcp, by whatever                               Ours
starts an old server, by launchers that can be left out     Old: what replaces it is known
starts an old server by something else, or in a script line Buried: a person must change it
anything else                                               None
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.cli.clients.recognition import codex_flags
from codex_mcp.cli.clients.recognition.launchers import (
    IN_TEXT,
    Packages,
    Unwrapped,
    plain_words,
    program_name,
    shell_text,
    unwrapped,
)

ONE_STRING: Final = "one string"
"""The launcher of an entry whose `command` is a whole line."""

SERVING: Final = frozenset({"mcp-server", "serve"})
"""The commands of codex-mcp that a client starts."""


class ServerKind(StrEnum):
    """What an old entry starts."""

    CODEX = "codex mcp-server"
    SESSIONS = "session wrapper"
    BRIDGE = "bridge"


class Ours(Struct, frozen=True):
    """codex-mcp."""

    start: int | None = None
    """The first word that names our program; None if the line is not ours to change."""

    end: int = 0
    """Behind the last word that names it."""

    serving: int | None = None
    """Where `mcp-server` or `serve` stands."""

    through: str = ""
    """What starts it, if that is not its own program."""

    program: str = ""
    """Our program, if the line names one of this machine: no package, no module, nothing on another machine."""


class Old(Struct, frozen=True):
    """An old server: what replaces its arguments, and what must be known about it."""

    kind: ServerKind
    args: list[str]
    environment: dict[str, str] = {}
    """Variables that its command line sets, for the entry's `env`."""

    notes: tuple[str, ...] = ()


class Buried(Struct, frozen=True):
    """An old server that something starts which we cannot leave out."""

    kind: ServerKind
    through: str


Verdict: TypeAlias = Ours | Old | Buried
IsOurs: TypeAlias = Callable[[str], bool]
"""Whether a program `codex-mcp-server` is the one that comes with codex-mcp, and not npm's."""

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
_OWN: Final = "codex-mcp"
_OWN_MODULE: Final = "codex_mcp"
_OWN_PACKAGE: Final = re.compile(
    r"(?:.*[/+ @])?codex[-_]mcp(?:-[0-9][^/]*\.(?:whl|tar\.gz)|\.git)?(?:[\[@=<>~! #].*)?/?"
)

_NAMING: Final = frozenset({"--name", "--hostname", "--label", "--title", "--container-name", "--network-alias", "-t"})
"""Flags whose value is a name that somebody chose, such as that of a container."""


def recognised(words: Sequence[str], is_ours: IsOurs = lambda _: False) -> Verdict | None:
    """What this command line starts; None if that is none of our concern."""
    found = _exact(words, is_ours)
    if found is None and len(words) == 1 and (inner := plain_words(words[0])):
        # The whole line in `command`: what replaces it goes where it belongs.
        found = _exact(inner, is_ours)
        if isinstance(found, Ours):
            return Ours(through=ONE_STRING, program=found.program)
        return found or _buried(inner, is_ours)
    return found or _buried(words if len(words) > 1 else ["", *words], is_ours)


def _exact(words: Sequence[str], is_ours: IsOurs) -> Verdict | None:
    server = unwrapped(words)
    if not server.words:
        return None
    name, args = program_name(server.words[0]), server.words[1:]
    if _is_own_program(name, server, is_ours):
        return _ours(words, server, has_command=name == _OWN or server.python is not None)
    if name in _CODEX:
        read = codex_flags.read(args)
        notes = (*server.notes, *(f"{flag} is left out" for flag in read.left_out))
        return Old(ServerKind.CODEX, ["mcp-server", *read.kept], server.environment, notes) if read.is_server else None
    if name in _SESSIONS:
        notes = (*server.notes, *_ignored(args))
        return Old(ServerKind.SESSIONS, ["mcp-server", "--tools", "sessions"], server.environment, notes)
    if name in _BRIDGES:
        other = "its tools had other names, so prompts that name them must change"
        return Old(ServerKind.BRIDGE, ["mcp-server"], server.environment, (*server.notes, *_ignored(args), other))
    return None


def _is_own_program(name: str, server: Unwrapped, is_ours: IsOurs) -> bool:
    if server.packages is Packages.NPM:  # npm has other programs of these names
        return False
    if server.python is not None:
        return name == _OWN_MODULE
    if name == _OWN:
        return True
    if name not in _SESSIONS:
        return False
    return is_ours(server.words[0]) if server.packages is None else bool(_OWN_PACKAGE.fullmatch(server.package))


def _ours(words: Sequence[str], server: Unwrapped, *, has_command: bool) -> Ours | None:
    """A server of ours, unless the words are another command of codex-mcp."""
    through = "" if server.start == 0 else _launcher(words)
    commands = [number for number, word in enumerate(server.words) if number and not word.startswith("-")]
    if has_command and commands and server.words[commands[0]] not in SERVING:
        return None
    if server.start == IN_TEXT:
        return Ours(through=through, program="" if server.packages else server.words[0])
    serving = server.start + commands[0] if has_command and commands else None
    if server.python is not None:  # Python belongs to the program: it has our modules
        return Ours(server.python, server.start + 1, serving, through if server.python else "")
    if server.packages is not None:  # `uvx codex-mcp` finds it wherever it is
        return Ours(serving=serving, through=through)
    return Ours(server.start, server.start + 1, serving, through, server.words[0])


def _buried(words: Sequence[str], is_ours: IsOurs) -> Ours | Buried | None:
    """A server somewhere behind the first word, or in a text for a shell."""
    runner = unwrapped(words)
    for number in range(1, len(words)):
        is_text = bool(re.search(r"\s", words[number].strip()))
        is_decided = runner.packages is not None and number == runner.start and not is_text  # by `_exact`
        if words[number - 1] in _NAMING or is_decided:
            continue
        lines = _lines(words[number]) if is_text else [words[number:]]
        for line in lines:
            found = _begins(line, is_ours)
            if found is not None:
                through = _launcher(words)
                if isinstance(found, Ours):
                    return Ours(through=through, program=found.program if runner.start == IN_TEXT else "")
                return Buried(found, through)
    return None


def _begins(words: Sequence[str], is_ours: IsOurs) -> Ours | ServerKind | None:
    """What begins with these words, whatever follows."""
    found = _exact(words, is_ours)
    if isinstance(found, Old):
        return found.kind
    if isinstance(found, Ours):
        return found if not SERVING.isdisjoint(words) or program_name(words[0]) in _SESSIONS else None
    server = unwrapped(words)
    if server.words and program_name(server.words[0]) in _CODEX:
        return ServerKind.CODEX if codex_flags.read(server.words[1:]).begins_server else None
    return None


def _lines(text: str) -> Iterator[list[str]]:
    """Every beginning of a command in a text for a shell, and whatever follows it there."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>`")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = text.split()
    command: list[str] = []
    for token in [*tokens, ";"]:
        if token and not set(token) <= set(";&|()<>`"):
            command.append(token.lstrip("{$"))
            continue
        yield from (command[number:] for number in range(len(command)))
        command = []


def _launcher(words: Sequence[str]) -> str:
    """What starts the server, for people: `docker run`, `bash -c`."""
    name = words[0].replace("\\", "/").rpartition("/")[2]
    if shell_text(words[1:]) is not None:
        return f"{name} -c"
    if len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]) and words[1] not in _CODEX:
        return f"{name} {words[1]}"
    return name or ONE_STRING


def _ignored(words: Sequence[str]) -> tuple[str, ...]:
    flags = [word for word in words if word not in SERVING]
    return (f"{shlex.join(flags)} is left out",) if flags else ()
