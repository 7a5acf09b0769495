"""Pure. The parts of a command that are worth a second look, and why. Nothing is decided by them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

LONGEST: Final = 20_000
"""Characters of a command that are looked at."""

BEGINS: Final = r"(?:^|(?<=[\s;&|('\"`]))"
"""Before the name of a program."""

RULES: Final = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (
            r"\bgit\s+push\b[^\n;&|]{0,200}?\s(--force(?:-with-lease)?(?:=\S+)?|-f)(?=\s|['\"]|$)",
            "rewrites the history of a remote",
        ),
        (BEGINS + r"(git\s+push)\b", "sends commits to a remote"),
        (
            BEGINS + r"(git\s+(?:reset\s+--hard|clean\s+-\w{0,20}f|checkout\s+--|restore))(?=\s|['\"]|$)",
            "drops changes that are not committed",
        ),
        (
            BEGINS + r"(rm\s+(?:-\w{1,20}\s{1,9}){0,8}(?:-\w{0,20}[rR]\w{0,20}|--recursive))(?=\s)",
            "removes whole folders",
        ),
        (BEGINS + r"(sudo|doas|su)\s", "acts as another user"),
        (BEGINS + r"(curl|wget|ssh|scp|sftp|rsync|nc|ncat|telnet)\s", "reaches the network"),
        (BEGINS + r"((?:pip3?|p?npm|yarn|cargo|gem|brew|apt(?:-get)?|dnf)\s+(?:install|add|i))\b", "installs packages"),
        (r"(\|\s*(?:sudo\s+)?(?:bash|sh|zsh|dash|python3?))(?=\s|['\"]|$)", "runs what another program prints"),
        (BEGINS + r"(chmod|chown)\s", "changes permissions"),
        (BEGINS + r"(kill|pkill|killall)\s", "ends processes"),
        (BEGINS + r"(dd|mkfs[.\w]*|fdisk)\s", "writes to a disk"),
    )
)

PATH: Final = re.compile(r"(?<![\w.:~/=@-])(~?/[\w.@+~-][\w./@+~-]*)")
KNOWN: Final = ("/bin/", "/sbin/", "/usr/", "/opt/", "/dev/", "/proc/")
OUTSIDE: Final = "outside its folder"


class Part(Struct, frozen=True, omit_defaults=True):
    text: str
    is_marked: bool = False


class Hinted(Struct, frozen=True):
    parts: Sequence[Part] = ()
    """The whole command, in order."""
    why: Sequence[str] = ()


def hinted(command: str, cwd: str) -> Hinted:
    """`cwd` is where it would run."""
    found = sorted(_found(command[:LONGEST], cwd))
    parts: list[Part] = []
    end = 0
    for begin, stop, _ in found:
        if begin < end:
            continue
        parts += [Part(command[end:begin])] if begin > end else []
        parts.append(Part(command[begin:stop], is_marked=True))
        end = stop
    rest = [Part(command[end:])] if end < len(command) else []
    return Hinted([*parts, *rest], list(dict.fromkeys(why for *_, why in found)))


def _found(command: str, cwd: str) -> Iterator[tuple[int, int, str]]:
    for pattern, why in RULES:
        for match in pattern.finditer(command):
            yield *match.span(1), why
    inside = f"{cwd.rstrip('/')}/"
    for match in PATH.finditer(command):
        path = match[1]
        is_inside = bool(cwd) and f"{path}/".startswith(inside) and "/../" not in f"{path}/"
        if not is_inside and not f"{path}/".startswith(KNOWN):
            yield *match.span(1), OUTSIDE
