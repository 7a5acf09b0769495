"""Reads agent files, such as `.claude/agents/reviewer.md`: a head with settings, then the prompt.

Such files are written for Claude Code. A setting without a counterpart in Codex is ignored, with a note.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import opened
from codex_mcp.base.git import is_repository_root
from codex_mcp.base.identity import is_identity
from codex_mcp.base.settings.kinds import Sandbox
from codex_mcp.team.profile.front_matter import Value, split

LONGEST: Final = 256 * 1024
"""Bytes of a file: ten times the longest one that a person would write."""

CLAUDE_MODELS: Final = frozenset({"sonnet", "opus", "haiku", "inherit", "default", "best", "opusplan"})
"""Model names of Claude Code, besides everything that begins with `claude`."""

CHANGING_TOOLS: Final = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "*"})
"""Claude's tools that can change files. An agent whose list of tools has none of these only reads."""


class AgentFile(Struct, frozen=True, kw_only=True):
    """The contents of an agent file; None where it says nothing."""

    prompt: str
    identity: str | None = None
    """The default identity of its agent: its name, if that can be one."""
    model: str | None = None
    sandbox: Sandbox | None = None
    """The sandbox that the list of tools calls for."""
    notes: tuple[str, ...] = ()


def read_agent_file(path: str, base: str) -> AgentFile:
    """The agent in a file; a relative path is relative to `base`. Raises Refused."""
    place = os.path.join(base, path)
    text = _text(path, place, _root_of(os.path.normpath(os.path.abspath(place)), os.path.abspath(base)))
    try:
        values, body = split(text)
    except ValueError as error:
        raise Refused(f"cannot use the agent file `{path}`: {error}; fix the file") from error
    if not body.strip():
        raise Refused(f"cannot use the agent file `{path}`: it has no prompt; write one below its head")
    return _agent(values, body.strip())


def _root_of(place: str, base: str) -> str:
    """The folder that a file must be in: its repository, else the folder in which the agent works, else its own folder.

    Links are not followed on the way up, because a repository can contain any link.
    """
    folder = own_folder = os.path.dirname(place)
    while not is_repository_root(folder):
        if folder == os.path.dirname(folder):
            return base if _is_inside(place, base) else own_folder
        folder = os.path.dirname(folder)
    return folder


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _refuse_link(path: str, place: str, root: str, opened: os.stat_result) -> None:
    """Refuse a link out of the repository: it may lead to a private key, which the model and the audit would get."""
    real = os.path.realpath(place)
    if _is_inside(real, os.path.realpath(root)) and os.path.samestat(opened, os.stat(real)):
        return
    raise Refused(
        f"cannot use the agent file `{path}`: it is a link that leads out of {root}; name the file itself, or copy it"
    )


def _text(path: str, place: str, root: str) -> str:
    try:
        file = opened(place)
    except FileNotFoundError as error:
        raise Refused(f"cannot find the agent file `{path}`: there is no {place}; correct agent_file") from error
    except (OSError, ValueError) as error:
        raise Refused(f"cannot read the agent file `{path}`: {_reason(error)}; correct agent_file") from error
    with file:
        try:
            _refuse_link(path, place, root, os.fstat(file.fileno()))
            return _checked(path, file.read(LONGEST + 1))
        except OSError as error:
            raise Refused(f"cannot read the agent file `{path}`: {_reason(error)}; correct agent_file") from error


def _checked(path: str, data: bytes) -> str:
    if len(data) > LONGEST:
        raise Refused(f"cannot use the agent file `{path}`: it is longer than {LONGEST // 1024} KiB; shorten it")
    if b"\0" in data:
        raise Refused(f"cannot use the agent file `{path}`: it is binary; name a Markdown file")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"cannot use the agent file `{path}`: it is not in UTF-8; convert it") from error


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _agent(values: Mapping[str, Value], prompt: str) -> AgentFile:
    tools = _list(values.get("tools"))
    model = _word(values.get("model"))
    notes: list[str] = []
    name = (model or "").lower().partition("[")[0]  # sonnet[1m]
    if name in CLAUDE_MODELS or name.startswith("claude"):
        notes.append(f"the agent file asks for the model {model!r:.100}, which is Claude's; Codex's own choice is used")
        model = None
    can_change = tools is None or any(tool.partition("(")[0].strip() in CHANGING_TOOLS for tool in tools)  # Bash(git:*)
    identity = (_word(values.get("name")) or "").lower().replace(" ", "-").replace("_", "-")
    return AgentFile(
        prompt=prompt,
        identity=identity if is_identity(identity) else None,
        model=model,
        sandbox=None if can_change else Sandbox.READ_ONLY,
        notes=tuple(notes),
    )


def _word(value: Value | None) -> str | None:
    text = ", ".join(value) if isinstance(value, tuple) else value
    return text.strip() or None if text else None


def _list(value: Value | None) -> tuple[str, ...] | None:
    """A list, which may be written as `Read, Grep`. An empty value says nothing; an empty list means no tools."""
    if value is None or value == "":
        return None
    items = value.split(",") if isinstance(value, str) else value
    return tuple(item.strip() for item in items if item.strip())
