"""Pure. `codex … mcp-server`: whether words of Codex start its MCP server, and which flags ours has too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

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

_COMMANDS: Final = (["mcp-server"], ["mcp"], ["mcp", "serve"])


class Words(Struct, frozen=True):
    """The words after `codex`, read."""

    command: list[str]
    kept: list[str]
    """What our server takes as well."""

    left_out: tuple[str, ...]

    @property
    def is_server(self) -> bool:
        return self.command in _COMMANDS

    @property
    def begins_server(self) -> bool:
        """Whether it is the server with something behind it, as in a line for a shell."""
        return self.is_server or self.command[:1] == ["mcp-server"]


def read(words: Sequence[str]) -> Words:
    kept: list[str] = []
    left_out: list[str] = []
    command: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            continue
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
            left_out.append(flag)
    return Words(command, kept, tuple(left_out))
