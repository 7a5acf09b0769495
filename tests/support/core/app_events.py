"""One thread's talk with the app-server, told by hand in the shapes of 0.163.0, and the events that come of it."""

from __future__ import annotations

import msgspec

from codex_mcp.codex.core import Event
from codex_mcp.codex.facts import Fact, fact_of
from codex_mcp.codex.reading import read_notification, read_question
from codex_mcp.threads.events.translator import EventTranslator
from codex_mcp.wire.app.notifications import AppNotification
from codex_mcp.wire.app.requests import ThreadOpened

Json = dict[str, object]

THREAD = "thread-1"
TURN = "turn-1"
FOLDER = "/home/ada/site"
COMMAND_APPROVAL = "item/commandExecution/requestApproval"
PATCH_APPROVAL = "item/fileChange/requestApproval"

# Nothing happens in these tests; the moment is always the same.
NOW_S = 1_800_000_000
NOW_MS = NOW_S * 1000


class Talk:
    """Tells a translator what happens, and keeps what it answers."""

    def __init__(self, *, full: bool = False) -> None:
        self.translator = EventTranslator(THREAD, full=full)
        self.events: list[Event] = []

    @property
    def types(self) -> list[object]:
        """The types of all events so far."""
        return [event.msg["type"] for event in self.events]

    def of_type(self, kind: str) -> list[Json]:
        """The events of one type."""
        return [event.msg for event in self.events if event.msg["type"] == kind]

    def only(self, kind: str) -> Json:
        """The one event of this type."""
        [msg] = self.of_type(kind)
        return msg

    def opened(self, **changes: object) -> Talk:
        return self._keep(self.translator.thread_opened(msgspec.convert(OPENED | changes, ThreadOpened)))

    def note(self, method: str, **params: object) -> Talk:
        note = read_notification(method, raw({"threadId": THREAD, **params}))
        return self if note is None else self._keep(self.translator.told(note))

    def in_turn(self, method: str, **params: object) -> Talk:
        return self.note(method, turnId=TURN, **params)

    def turn_started(self, turn_id: str = TURN) -> Talk:
        turn: Json = {"id": turn_id, "items": [], "status": "inProgress", "error": None, "startedAt": NOW_S}
        return self.note("turn/started", turn=turn)

    def turn_completed(self, status: str = "completed", error: Json | None = None, turn_id: str = TURN) -> Talk:
        times = {"startedAt": NOW_S, "completedAt": NOW_S + 2, "durationMs": 2000}
        return self.note("turn/completed", turn={"id": turn_id, "items": [], "status": status, "error": error, **times})

    def started(self, item: Json, turn_id: str = TURN) -> Talk:
        return self.note("item/started", turnId=turn_id, item=item, startedAtMs=NOW_MS)

    def completed(self, item: Json, turn_id: str = TURN) -> Talk:
        return self.note("item/completed", turnId=turn_id, item=item, completedAtMs=NOW_MS + 5)

    def asks(self, method: str, **params: object) -> Talk:
        asked = {"threadId": THREAD, "turnId": TURN, "startedAtMs": NOW_MS, **params}
        return self._keep(self.translator.told(read_question(method, raw(asked))))

    def answer(self, method: str, item_id: str, *, approved: bool) -> Talk:
        asked = {"threadId": THREAD, "turnId": TURN, "itemId": item_id}
        return self._keep(self.translator.answered(read_question(method, raw(asked)), approved=approved))

    def _keep(self, events: list[Event]) -> Talk:
        self.events += events
        return self


def raw(value: object) -> msgspec.Raw:
    """The value as it would stand in a message."""
    return msgspec.Raw(msgspec.json.encode(value))


def heard(method: str, **params: object) -> tuple[AppNotification | None, Fact | None]:
    """A notification as the core passes it on: decoded, and what it means for a turn."""
    note = read_notification(method, raw(params))
    return note, None if note is None else fact_of(note)


OPENED: Json = {
    "thread": {"id": THREAD, "sessionId": THREAD, "path": "/home/ada/.codex/sessions/rollout-1.jsonl", "name": None},
    "model": "gpt-5.5",
    "modelProvider": "scripted",
    "serviceTier": None,
    "cwd": FOLDER,
    "approvalPolicy": "on-request",
    "approvalsReviewer": "user",
    "sandbox": {"type": "readOnly", "networkAccess": False},
    "reasoningEffort": None,
}


def prompt(text: str = "Mend the page.") -> Json:
    return {"type": "userMessage", "id": "user-1", "content": [{"type": "text", "text": text, "text_elements": []}]}


def message(text: str = "", item_id: str = "msg-1") -> Json:
    return {"type": "agentMessage", "id": item_id, "text": text, "phase": None, "memoryCitation": None}


def command(item_id: str = "call-1", **changes: object) -> Json:
    """A command that is about to be asked for."""
    return {
        "type": "commandExecution",
        "id": item_id,
        "command": "/bin/bash -lc 'make docs && echo ok'",
        "cwd": FOLDER,
        "processId": None,
        "source": "agent",
        "status": "inProgress",
        "commandActions": [{"type": "unknown", "command": "make docs && echo ok"}],
        "aggregatedOutput": None,
        "exitCode": None,
        "durationMs": None,
        **changes,
    }


def running(item_id: str = "call-1") -> Json:
    return command(item_id, processId="4242", source="unifiedExecStartup")


def ran(item_id: str = "call-1", output: str = "ok\n", exit_code: int = 0) -> Json:
    outcome = {"status": "failed" if exit_code else "completed", "exitCode": exit_code, "durationMs": 1250}
    return running(item_id) | outcome | {"aggregatedOutput": output}


def patch(item_id: str = "call-2", status: str = "inProgress") -> Json:
    changes = [
        {"path": f"{FOLDER}/new.txt", "kind": {"type": "add"}, "diff": "one\n"},
        {"path": f"{FOLDER}/page.txt", "kind": {"type": "update", "move_path": None}, "diff": "@@ -1 +1 @@\n-a\n+b\n"},
    ]
    return {"type": "fileChange", "id": item_id, "changes": changes, "status": status}


def usage(total: int = 30, last: int = 10) -> Json:
    def tokens(number: int) -> Json:
        parts = {"cachedInputTokens": 0, "cacheWriteInputTokens": 0, "outputTokens": 3, "reasoningOutputTokens": 0}
        return {"totalTokens": number, "inputTokens": number - 3, **parts}

    return {"total": tokens(total), "last": tokens(last), "modelContextWindow": 258_400}


LIMITS: Json = {
    "limitId": "codex",
    "limitName": None,
    "primary": {"usedPercent": 12, "windowDurationMins": 300, "resetsAt": NOW_S + 60},
    "planType": "pro",
}
