"""Pure. What a question wants, in a few words for a row or a title: the words, and the code among them."""

from __future__ import annotations

import shlex
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import counted, one_line
from codex_mcp.wire import control

LONGEST: Final = 200
"""Characters of a command or a question in a row."""


class Want(Struct, frozen=True):
    icon: str
    words: str
    """What it wants, without naming it: `wants to run a command`."""
    short: str
    """The same before what it names: `wants to run`."""
    about: str = ""
    """What it names."""
    is_code: bool = False


def want_of(question: control.Question) -> Want:
    fields = question.fields
    match question.kind:
        case "exec":
            return _of_command(fields)
        case "patch":
            changes = fields.get("changes")
            files = counted(len(changes), "file") if isinstance(changes, dict) and changes else "files"
            return Want("patch", f"wants to change {files}", "wants to change", files)
        case "permissions":
            return Want("lock", "wants more permissions", "wants more permissions")
        case "user_input":
            asked = fields.get("questions")
            first = asked[0] if isinstance(asked, list) and asked and isinstance(asked[0], dict) else {}
            return Want("ask", "asks", "asks:", _line(first.get("question")))
        case "mcp" if fields.get("is_tool_approval"):
            server = _line(fields.get("server_name"))
            return Want(
                "tool",
                f"wants to call a tool of {server}",
                f"wants to call a tool of {server}:",
                _first_line(fields.get("message")),
            )
        case "mcp":
            server = _line(fields.get("server_name"))
            return Want(
                "ask", f"passes on a question of {server}", f"{server} asks:", _first_line(fields.get("message"))
            )
        case _:
            return Want("ask", "asks", "asks:", _first_line(question.message))


def _of_command(fields: object) -> Want:
    assert isinstance(fields, dict)
    line, network = _line(typed(fields.get("command_line"))), fields.get("network")
    if isinstance(network, dict):
        return Want("net", "wants to reach a host", "wants to reach", _line(network.get("host")), is_code=True)
    if fields.get("is_stdin"):
        return Want("run", "wants to type into a terminal", "wants to type", line, is_code=True)
    return Want("run", "wants to run a command", "wants to run", line, is_code=True)


def typed(value: object) -> str:
    """A command line without the shell that Codex puts around it: a row is short, the card has all of it."""
    line = value if isinstance(value, str) else ""
    try:
        words = shlex.split(line)
    except ValueError:
        return line
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else line


def _line(value: object) -> str:
    text = one_line(value) if isinstance(value, str) else ""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _first_line(value: object) -> str:
    return _line(value.partition("\n")[0]) if isinstance(value, str) else ""
