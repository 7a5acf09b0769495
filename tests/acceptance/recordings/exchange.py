"""How these tests read an exchange: what a client of `codex mcp-server` 0.153.4 would look at, and nothing else.

The recordings show what that program said to each request. A counterpart makes the same requests to our server and
expects the same answers and the same events in the same order; what differs on purpose is in docs/compatibility.md.
"""

import re
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from pathlib import Path

from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.mcp_server import Json, McpServer, scripted_server

SCENES = Path(__file__).parents[2] / "support/scripts/recordings.toml"

OPENED = ["session_configured", "mcp_startup_complete"]
BEGUN = ["task_started", "user_message"]
SAID = ["agent_message_content_delta", "agent_message", "token_count"]
NEW = [*OPENED, *BEGUN]
ENDED = [*SAID, "task_complete"]

THREAD_ID_NOTE = "\n\nthreadId: "
"""Begins the note that our texts end with."""

WARNINGS = re.compile(r"\A(?:Warning: .*\n\n)+")
"""Sentences about the turn before its answer."""

BY_NOBODY = ". No user has rejected it, whatever the output of the tool says."
"""What the model reads at the end of a refusal that no person has decided."""


def serve(
    folder: Path, *flags: str, overrides: tuple[str, ...] = (), environment: dict[str, str] | None = None
) -> AbstractAsyncContextManager[tuple[McpServer, ScriptedModel]]:
    """A server whose model plays the scenes of these tests."""
    return scripted_server(folder, *flags, script=SCENES, overrides=overrides, environment=environment)


def scene(name: str, **parameters: str) -> str:
    """The prompt that chooses a scene."""
    given = "".join(f' {key}="{value}"' for key, value in parameters.items())
    return f"[[scene: {name}{given}]]"


def as_recorded(result: Json) -> Json:
    """A result as 0.153.4 had it: `structuredContent` cut to two fields, texts without warnings and id."""
    texts = [
        {**part, "text": WARNINGS.sub("", part["text"]).partition(THREAD_ID_NOTE)[0]} for part in result["content"]
    ]
    cut = {**result, "content": texts}
    if "structuredContent" in result:
        cut["structuredContent"] = {key: result["structuredContent"][key] for key in ("threadId", "content")}
    return cut


def answered(thread: str, text: str) -> Json:
    """The result of a turn that ended well."""
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"threadId": thread, "content": text}}


def failed(thread: str, text: str) -> Json:
    """The result of a turn that failed."""
    return {**answered(thread, text), "isError": True}


def refused(text: str) -> Json:
    """The result of a call that never became a turn."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def thread_of(result: Json) -> str:
    """The thread that a result names."""
    thread: str = result["structuredContent"]["threadId"]
    return thread


def event_types(server: McpServer, request_id: int | str, *, but: tuple[str, ...] = ()) -> list[str]:
    """The types of a call's events in order, but for these; deltas that follow each other count as one."""
    kinds = [event["type"] for event in server.events(request_id) if event["type"] not in but]
    return [kind for kind, run in groupby(kinds) for kind in ([kind] if kind.endswith("_delta") else run)]


def event_of(server: McpServer, request_id: int | str, kind: str) -> Json:
    """The one event of this type."""
    (event,) = [event for event in server.events(request_id) if event["type"] == kind]
    return event
