"""Pure. What stands before a server in a command line: `env A=b`, `npx -y`, `uvx --from X`, `sh -c '…'`.

Whatever else starts a server (`docker run`, `ssh`, `sudo`, `mise exec`) is no launcher here: without it the server
would run elsewhere, as somebody else or with other programs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace


class Packages(StrEnum):
    """Where a runner finds the program."""

    NPM = "npm"
    PYTHON = "Python"


class Runner(Struct, frozen=True):
    """A program that starts another one."""

    packages: Packages
    with_value: frozenset[str] = frozenset()
    """Flags that take a value."""

    of_package: frozenset[str] = frozenset()
    """Those of them that name the program's package."""


_NODE_PACKAGE: Final = frozenset({"-p", "--package"})
_UV: Final = Runner(
    Packages.PYTHON,
    frozenset(
        {
            "--from",
            "--with",
            "-w",
            "--with-editable",
            "--with-requirements",
            "--python",
            "-p",
            "--index",
            "--index-url",
            "-i",
        }
    )
    | {
        "--extra-index-url",
        "--default-index",
        "--find-links",
        "-f",
        "--directory",
        "--project",
        "--env-file",
        "--cache-dir",
        "--config-file",
        "--refresh-package",
        "--exclude-newer",
    },
    frozenset({"--from", "--with", "--with-editable"}),
)
_NODE: Final = Runner(Packages.NPM, _NODE_PACKAGE | {"--registry", "--prefix", "-C", "--dir"}, _NODE_PACKAGE)

_RUNNERS: Final = {
    **dict.fromkeys(("bun", "bunx", "npm", "npx", "pnpm", "pnpx", "yarn"), _NODE),
    "deno": Runner(Packages.NPM, frozenset({"--config", "-c"})),
    "node": Runner(Packages.NPM, frozenset({"-r", "--require", "--import", "--env-file"})),
    "pipx": Runner(
        Packages.PYTHON, frozenset({"--spec", "--python", "--pip-args", "--index-url"}), frozenset({"--spec"})
    ),
    "uv": _UV,
    "uvx": _UV,
}

_PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*w?|py")
_PYTHON_VALUES: Final = frozenset({"-W", "-X"})

_RUN: Final = frozenset({"dlx", "exec", "run", "tool", "x"})
"""Commands of runners that start a program."""

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_PASSING: Final = frozenset({"nohup", "exec", "command", "time", "setsid"})
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_WINDOWS_PATH: Final = re.compile(r"(?:^|[\s\"'])[A-Za-z]:\\")

SYNTAX: Final = re.compile(r"[$`<>(){}*?~&|;!\n]")
"""What a shell would replace or obey; a text with it is more than words."""


IN_TEXT: Final = -1


class Unwrapped(Struct, frozen=True):
    """A server without what starts it."""

    words: list[str]
    start: int = 0
    """Where its words begin in the command line; -1 if they stand in a text for a shell."""

    environment: dict[str, str] = {}
    """The variables that are set on the way."""

    notes: tuple[str, ...] = ()
    packages: Packages | None = None
    package: str = ""
    """The package that the runner was told to take the program from."""

    python: int | None = None
    """It is a module, and this word is Python."""


def program_name(word: str) -> str:
    """The name of a program: without folder, ending and version; of a script in a package, the package's name."""
    path = word.replace("\\", "/").removeprefix("npm:")
    if "/node_modules/" in path:
        path = path.rpartition("/node_modules/")[2]
        parts = path.split("/")
        return "/".join(parts[: 2 if parts[0].startswith("@") else 1]) if parts[0] != ".bin" else _bare(parts[-1])
    if path.startswith("@"):
        scope, _, name = path.partition("/")
        return f"{scope}/{name.partition('@')[0]}"
    if built := re.fullmatch(r"(?:.*/)?([^/]+)/(?:dist|build)/index\.m?js", path):
        return built[1]
    return _bare(path.rpartition("/")[2])


def _bare(name: str) -> str:
    return re.sub(r"\.(?:exe|cmd|bat|ps1)$", "", name, flags=re.IGNORECASE).partition("@")[0]


def unwrapped(words: Sequence[str]) -> Unwrapped:
    """The words of the server itself; none if nothing is left, or if a shell does more than start it."""
    state = Unwrapped(list(words))
    while state.words:
        after = _step(state)
        if after is None:
            return state
        state = after
    return state


def _step(state: Unwrapped) -> Unwrapped | None:
    """Without the outermost launcher; None if there is none."""
    first, rest = state.words[0], state.words[1:]
    name = program_name(first)
    if assigned := _ASSIGNMENT.fullmatch(first):
        return _later(replace(state, environment={**state.environment, assigned[1]: assigned[2]}), rest)
    if name == "env":
        return _after_env(state, rest)
    if name in _PASSING:
        return _later(state, rest)
    if name in _SHELLS and rest:
        return _in_text(state, shell_text(rest))
    if name.lower() == "cmd":
        return _later(state, [word for word in rest[:1] if word.lower() not in ("/c", "/k")] + rest[1:])
    if _PYTHON.fullmatch(name):
        return _after_python(state, rest)
    if name in _RUNNERS:
        return _after_runner(state, rest, _RUNNERS[name])
    return None


def _later(state: Unwrapped, rest: list[str]) -> Unwrapped:
    """Further to the right in the same words."""
    start = IN_TEXT if state.start == IN_TEXT else state.start + len(state.words) - len(rest)
    return replace(state, words=rest, start=start)


def _in_text(state: Unwrapped, text: str | None) -> Unwrapped:
    return replace(state, words=plain_words(text or "") or [], start=IN_TEXT)


def _after_env(state: Unwrapped, rest: list[str]) -> Unwrapped:
    while rest and rest[0].startswith("-"):
        flag = rest[0]
        if flag in ("-S", "--split-string") and len(rest) > 1:
            inner = plain_words(rest[1])
            return replace(state, words=[*inner, *rest[2:]] if inner else [], start=IN_TEXT)
        count = 2 if flag in ("-u", "--unset", "-C", "--chdir") else 1
        state = replace(state, notes=(*state.notes, f"{shlex.join(rest[:count])} of env is left out"))
        rest = rest[count:]
    return _later(state, rest)


def shell_text(words: Sequence[str]) -> str | None:
    """The text of `-c "…"`; of a script, nothing is known."""
    for number, word in enumerate(words):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[number + 1] if number + 1 < len(words) else None
        if not word.startswith("-"):
            return None
    return None


def plain_words(text: str) -> list[str] | None:
    """The words of a text that is a single command without anything that a shell would replace; else None."""
    if SYNTAX.search(text.strip()):
        return None
    try:
        return shlex.split(text.replace("\\", "/") if _WINDOWS_PATH.search(text) else text)
    except ValueError:
        return None


def _after_python(state: Unwrapped, rest: list[str]) -> Unwrapped:
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        if rest[0].startswith("-c"):  # code
            return replace(state, words=[])
        rest = rest[2:] if rest[0] in _PYTHON_VALUES else rest[1:]
    if rest[:1] == ["-m"]:
        return replace(_later(state, rest[1:]), packages=Packages.PYTHON, python=state.start)
    return replace(_later(state, rest), packages=Packages.PYTHON)


def _after_runner(state: Unwrapped, rest: list[str], runner: Runner) -> Unwrapped:
    package = state.package
    while rest:
        flag, _, value = rest[0].partition("=")
        if rest[0] in runner.with_value:
            package = rest[1] if flag in runner.of_package and len(rest) > 1 else package
            rest = rest[2:]
        elif flag.startswith("-"):
            package = value if flag in runner.of_package else package
            rest = rest[1:]
        elif rest[0] in _RUN:
            rest = rest[1:]
        else:
            break
    return replace(_later(state, rest), packages=runner.packages, package=package)
