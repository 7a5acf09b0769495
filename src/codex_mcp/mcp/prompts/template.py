"""Pure. A custom prompt of Codex: its front matter, its placeholders, and its text with arguments filled in.

    $1 … $9      positional arguments; MCP names them "1" … "9"; a missing one is empty
    $ARGUMENTS   all positional arguments; MCP names it "ARGUMENTS", and its words fill $1 … $9 that are not given
    $NAME        a named argument, in capitals, digits and _; it is required
    $$           a dollar sign

The front matter may have `description` and `argument-hint`. Nothing in a prompt is executed or looked up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

ALL: Final = "ARGUMENTS"

MAX_WORDS: Final = 9
"""Positional arguments, as in Codex."""

DESCRIPTION_CHARS: Final = 300
"""What is shown of a description; some clients put all descriptions of a list on the screen."""

BEGINNING_CHARS: Final = 80
"""What is shown of a prompt without a description."""

_PLACEHOLDER: Final = re.compile(r"\$(?:(\$)|([1-9])|([A-Z][A-Z0-9_]*))")

_HEAD: Final = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)

_BLOCK: Final = re.compile(r"[|>][-+0-9]*")

_WORD: Final = re.compile(r"""(?:"([^"]*)"|'([^']*)'|(\S+))""")


class MissingArgument(ValueError):
    """A required argument was not given; the text names it."""


class Prompt(Struct, frozen=True):
    name: str
    body: str
    description: str = ""
    hint: str = ""
    """How the arguments are to be written, in the author's words."""

    @property
    def arguments(self) -> list[str]:
        """The names of its arguments: positional ones first, then named ones in the order of the text."""
        found = {number or name for dollar, number, name in _PLACEHOLDER.findall(self.body) if not dollar}
        return [*sorted(name for name in found if name.isdigit()), *_named(self.body), *({ALL} & found)]

    @property
    def beginning(self) -> str:
        """Its first words, for a list."""
        return " ".join(self.body.split())[:BEGINNING_CHARS]

    def is_required(self, argument: str) -> bool:
        return argument != ALL and not argument.isdigit()

    def filled(self, arguments: Mapping[str, str]) -> str:
        """Its text with these arguments. Raises MissingArgument."""
        missing = [name for name in _named(self.body) if name not in arguments]
        if missing:
            raise MissingArgument(f"the prompt {self.name} needs the argument {', '.join(missing)}")
        words = _words(arguments)

        def value(found: re.Match[str]) -> str:
            dollar, number, name = found.groups()
            if dollar:
                return "$"
            if number:
                return words.get(number, "")
            return arguments.get(ALL, " ".join(words.values())) if name == ALL else arguments[name]

        return _PLACEHOLDER.sub(value, self.body)


def parsed(name: str, text: str) -> Prompt:
    """The prompt of a file."""
    values, body = _split(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    hint = values.get("argument-hint", values.get("argument_hint", ""))
    return Prompt(name, body.strip("\n"), _line(values.get("description", "")), _line(hint))


def _split(text: str) -> tuple[dict[str, str], str]:
    """The values of the front matter and the text below it. A text without an end of it has none.

    Codex reads each line as `key: value`, not as YAML: `argument-hint: [FILE=<path>] [FOCUS]` is one text. Of a block
    (`description: |` and indented lines) the first line is the value.
    """
    head = _HEAD.match(text)
    if head is None:
        return {}, text
    values: dict[str, str] = {}
    block = ""
    for line in head[1].splitlines():
        if block and (not line.strip() or line[0].isspace()):
            values[block] = values[block] or line.strip()
            continue
        key, colon, value = line.partition(":")
        is_pair = bool(colon) and not line.lstrip().startswith("#")
        block = key.strip().lower() if is_pair and _BLOCK.fullmatch(value.strip()) else ""
        if is_pair:
            values[key.strip().lower()] = "" if block else _unquoted(value.strip())
    return values, text[head.end() :]


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _line(text: str) -> str:
    return " ".join(text.split())[:DESCRIPTION_CHARS]


def _named(body: str) -> list[str]:
    names = [name for _, _, name in _PLACEHOLDER.findall(body) if name and name != ALL]
    return list(dict.fromkeys(names))


def _words(arguments: Mapping[str, str]) -> dict[str, str]:
    """The positional arguments by their numbers, in order."""
    split = ("".join(groups) for groups in _WORD.findall(arguments.get(ALL, "")))
    words = {str(number): word for number, word in zip(range(1, MAX_WORDS + 1), split, strict=False)}
    given = {name: value for name, value in arguments.items() if name.isdigit()}
    return dict(sorted((words | given).items()))
