"""Pure. The text of a systemd user unit that runs `codex-mcp serve`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

MARK: Final = "# Written by `codex-mcp install --service`; `codex-mcp uninstall --service` removes it."
"""The first line of a unit that is ours."""

UNIT: Final = """\
{mark}
[Unit]
Description=codex-mcp: Codex agents for MCP clients

[Service]
ExecStart={command}
WorkingDirectory={folder}
{environment}
# Exit code 2 is a wrong flag, setting or file: another start would fail in the same way.
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
# The server ends its agents itself, with a summary of their work.
KillMode=mixed
UMask=0077

[Install]
WantedBy=default.target
"""


def unit_text(command: Sequence[str], folder: str, environment: Mapping[str, str]) -> str:
    """The unit that runs this command in this folder, with these variables besides those of systemd."""
    variables = [f"Environment={_quoted(f'{name}={value}')}" for name, value in environment.items()]
    return UNIT.format(
        mark=MARK,
        # In a command, systemd replaces $NAME as well.
        command=" ".join(_quoted(word.replace("$", "$$")) for word in command),
        folder=_plain(folder),
        environment="\n".join(variables),
    )


def is_ours(text: str) -> bool:
    return text.startswith(MARK)


def _quoted(word: str) -> str:
    """A word as systemd reads it: quoted, with the characters that mean something else escaped."""
    word = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_plain(word)}"'


def _plain(text: str) -> str:
    """systemd replaces %h and the like everywhere. A newline would begin another setting."""
    return text.replace("%", "%%").replace("\n", "\\n")
