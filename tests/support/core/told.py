"""What the model was told about an agent, as the scripted model saw it."""

import json
import subprocess
from pathlib import Path
from typing import Any

from codex_mcp.scripted_model.server import ScriptedModel, SeenRequest

Json = dict[str, Any]

NOBODY: dict[str, str] = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "PATH": "/usr/bin:/bin",
}
"""What git needs to know to commit in a test."""


def developer_texts(seen: SeenRequest) -> list[str]:
    """Every text that a request says in the developer's voice."""
    return _texts(seen, "developer")


def user_texts(seen: SeenRequest) -> list[str]:
    """Every text that it says in the user's voice."""
    return _texts(seen, "user")


def developer_instructions(seen: SeenRequest) -> str:
    """The one text with what the agent is told of itself, and what its caller says before it."""
    (text,) = (text for text in developer_texts(seen) if "<agent-context>" in text)
    return text


def context(seen: SeenRequest) -> Json:
    """What the agent is told of itself: the labels of the lines, and the values."""
    block = developer_instructions(seen).partition("<agent-context>\n")[2].partition("\n</agent-context>")[0]
    pairs = [line.split(": ", 1) for line in block.splitlines() if ": " in line]
    return {label: None if value == "none" else json.loads(value) for label, value in pairs}


def base_prompt(seen: SeenRequest) -> str:
    """The system prompt. Newer Codexes say it as the first thing in the developer's voice."""
    instructions = seen.json.get("instructions")
    return instructions if isinstance(instructions, str) and instructions else developer_texts(seen)[0]


def facts_of_turn(seen: SeenRequest) -> Json:
    """What Codex itself says of the turn in a header: the sandbox, among others."""
    facts: Json = json.loads(seen.headers["x-codex-turn-metadata"])
    return facts


def last(model: ScriptedModel) -> SeenRequest:
    """The newest request."""
    return model.requests[-1]


def newest_prompt(seen: SeenRequest) -> str:
    """All that the newest message in the user's voice says, however many texts it has."""
    return "\n".join(_messages(seen, "user")[-1])


def _texts(seen: SeenRequest, role: str) -> list[str]:
    return [text for message in _messages(seen, role) for text in message]


def _messages(seen: SeenRequest, role: str) -> list[list[str]]:
    items = seen.json["input"]
    assert isinstance(items, list)
    return [
        [part["text"] for part in item["content"] if "text" in part]
        for item in items
        if item.get("type") == "message" and item.get("role") == role
    ]


def git(folder: Path, *words: str) -> str:
    """Run git in a folder."""
    done = subprocess.run(["git", *words], cwd=folder, env=NOBODY, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, branch: str = "main") -> Path:
    """A new repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", f"--initial-branch={branch}")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=begun")
    return folder
