"""The inboxes of the agents of a server, as other programs see them."""

import json
import os
from pathlib import Path
from typing import Any

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json
from tests.support.team.scenes import heard
from tests.support.team.team_server import TeamServer


def inbox_path(server: TeamServer, agent: str, team: str = "default") -> Path:
    """Where its inbox is."""
    return server.setup.home / ".claude/teams" / team / "inboxes" / f"{agent}.json"


def inbox(server: TeamServer, agent: str, team: str = "default") -> list[Json]:
    """What is in its inbox; nothing if there is none."""
    path = inbox_path(server, agent, team)
    found: list[Json] = json.loads(path.read_text()) if path.exists() else []
    return found


def record(text: str, number: int = 0, sender: str = "lead", **fields: Any) -> Json:
    """A message as Claude Code writes it."""
    return {
        "from": sender,
        "text": text,
        "timestamp": f"2026-11-15T10:00:{number % 60:02}.000Z",
        "msgV": 1,
        "msg_id": f"00000000-0000-4000-8000-{number:012}",
        "type": "message",
        "read": False,
        **fields,
    }


def put(server: TeamServer, agent: str, *records: Json, team: str = "default") -> None:
    """Write these messages into its inbox at once, after those that are there; it must not be written meanwhile."""
    path = inbox_path(server, agent, team)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".json.tmp.test")
    draft.write_text(json.dumps([*inbox(server, agent, team), *records], indent=2))
    os.replace(draft, path)


def unread(server: TeamServer, agent: str) -> list[str]:
    """The texts of its messages that are not marked as read."""
    return [each["text"] for each in inbox(server, agent) if not each["read"]]


def envelopes(model: ScriptedModel) -> list[list[Json]]:
    """The messages of all envelopes that the model was given, in order. Each envelope has a boundary of its own."""
    found: dict[str, list[Json]] = {}
    for number in range(len(model.requests)):
        boundary = ""
        for line in heard(model, number).splitlines():
            if line.startswith("--- mail "):
                boundary = line
                found[boundary] = []
            elif line.startswith("--- end of mail "):
                boundary = ""
            elif boundary:
                found[boundary].append(json.loads(line))
    return list(found.values())
