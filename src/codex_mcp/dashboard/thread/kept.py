"""Pure. The steps of a thread that no server runs, from the lines of its rollout file.

Codex writes each item there when it has ended, in a spelling of its own. Lines that cannot be read are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.secrets.redact import redact
from codex_mcp.control.steps import SHORT, WHOLE, Room, step_of
from codex_mcp.wire.app.items import UNREADABLE, Item
from codex_mcp.wire.control_thread import ListSteps, Plan, PlanStep, Setup, Step, Steps, TurnRow, Usage

INTERESTING: Final = (b'"item_completed"', b'"task_started"', b'"task_complete"', b'"turn_aborted"', b'"token_count"')
PLAN: Final = b'"update_plan"'
CONTEXT: Final = b'"turn_context"'
META: Final = b'"session_meta"'

LONGEST: Final = 300

PLAN_STATES: Final = {"in_progress": "inProgress"}


class _Line(Struct, frozen=True):
    type: str
    payload: dict[str, Any] = {}


class _Turn:
    def __init__(self, turn_id: str) -> None:
        self.id = turn_id
        self.started_at: float | None = None
        self.status = "interrupted"  # unless the file says how it ended
        self.seconds: float | None = None
        self.error = ""
        self.asked = ""
        self.steps: list[Step] = []

    def began(self, at: object) -> None:
        self.started_at = at if isinstance(at, int | float) else None

    def add(self, step: Step) -> None:
        if step.kind == "user" and not self.asked:
            self.asked = step.text[:LONGEST]
        self.steps.append(step)

    def ended(self, payload: Mapping[str, Any]) -> None:
        self.status = "completed" if payload.get("type") == "task_complete" else "interrupted"
        error = payload.get("error")
        if isinstance(error, dict):
            self.status, self.error = "failed", redact(str(error.get("message", ""))[:LONGEST])
        duration = payload.get("duration_ms")
        self.seconds = duration / 1000 if isinstance(duration, int | float) else None

    def row(self) -> TurnRow:
        return TurnRow(
            id=self.id,
            status=self.status,
            asked=self.asked,
            by="" if self.asked else "codex",
            steps=len(self.steps),
            started_at=self.started_at,
            seconds=self.seconds,
            error=self.error,
        )


class Kept:
    """What the lines say that were read so far."""

    def __init__(self, room: Room = SHORT) -> None:
        self._room = room
        self._turns: dict[str, _Turn] = {}
        self._usage: Usage | None = None
        self._plan = Plan()
        self._setup = Setup()
        self._is_continued = False

    def read(self, line: bytes) -> None:
        if not any(each in line for each in (*INTERESTING, PLAN, CONTEXT, META)):
            return
        try:
            read = msgspec.json.decode(line, type=_Line)
            self._line(read.type, read.payload)
        except (*UNREADABLE, TypeError, KeyError, AttributeError):
            return  # a line of another version, or half of one

    def _line(self, kind: str, payload: Mapping[str, Any]) -> None:
        match kind, payload.get("type"):
            case "event_msg", "task_started":
                self._turn(payload).began(payload.get("started_at"))
            case "event_msg", "task_complete" | "turn_aborted":
                self._turn(payload).ended(payload)
            case "event_msg", "item_completed":
                self._item(self._turn(payload), payload["item"])
            case "event_msg", "token_count":
                self._tokens(payload["info"])
            case "response_item", "function_call":
                self._plan = _plan(msgspec.json.decode(payload["arguments"]))
            case "turn_context", _:
                policy = payload.get("sandbox_policy")
                sandbox = str(policy.get("type", "")) if isinstance(policy, dict) else ""
                model, approval = str(payload.get("model") or ""), payload.get("approval_policy")
                self._setup = Setup(
                    model=model, sandbox=sandbox, approval=approval if isinstance(approval, str) else ""
                )
            case "session_meta", _:
                self._is_continued = self._is_continued or bool(payload.get("history_base"))

    def _turn(self, payload: Mapping[str, Any]) -> _Turn:
        turn_id = str(payload["turn_id"])
        return self._turns.setdefault(turn_id, _Turn(turn_id))

    def _item(self, turn: _Turn, spelled: dict[str, Any]) -> None:
        item = item_of(spelled)
        if item is None:
            return
        turn.add(replace(step_of(item, self._room), n=len(turn.steps)))

    def _tokens(self, info: Mapping[str, Any]) -> None:
        total, last, window = info["total_token_usage"], info["last_token_usage"], info.get("model_context_window")
        self._usage = Usage(
            input=total["input_tokens"],
            cached=total["cached_input_tokens"],
            output=total["output_tokens"],
            total=total["total_tokens"],
            context=last["total_tokens"],
            window=window if isinstance(window, int) else None,
        )

    def steps(self, asked: ListSteps, most: int) -> Steps:
        turns = list(self._turns.values())
        turn = self._turns.get(asked.turn) if asked.turn else next(iter(turns[-1:]), None)
        known = Steps(
            thread=asked.thread,
            turns=[each.row() for each in turns],
            is_cut=self._is_continued,
            setup=self._setup,
            usage=self._usage,
            plan=self._plan,
        )
        if turn is None:
            return known
        total = len(turn.steps)
        until = total if asked.before is None else max(0, min(asked.before, total))
        first = max(0, until - max(1, min(asked.limit, most)))
        return replace(known, turn=turn.id, steps=turn.steps[first:until], first=first, total=total)


def kept_steps(lines: Iterable[bytes], asked: ListSteps, most: int) -> Steps:
    kept = Kept(WHOLE if asked.whole else SHORT)
    for line in lines:
        kept.read(line)
    return kept.steps(asked, most)


def _plan(arguments: Mapping[str, Any]) -> Plan:
    steps = arguments.get("plan")
    rows = [each for each in steps if isinstance(each, dict)] if isinstance(steps, list) else []
    return Plan([PlanStep(redact(str(each["step"])[:LONGEST]), _state(each.get("status"))) for each in rows])


def _state(status: object) -> str:
    return PLAN_STATES.get(str(status), str(status))


def item_of(spelled: dict[str, Any]) -> Item | None:
    """An item as the app-server spells it; None for one that is not known here. Raises what decoding raises."""
    kind, fields = str(spelled["type"]), dict(spelled)
    fields["type"] = TYPES.get(kind, kind[:1].lower() + kind[1:])
    duration = fields.pop("duration", None)
    if isinstance(duration, dict):
        fields["durationMs"] = int(duration.get("secs", 0) * 1000 + duration.get("nanos", 0) / 1e6)
    change = SPELLINGS.get(kind)
    if change is not None:
        change(fields)
    item: Item = msgspec.convert(fields, Item, strict=False)
    return item


TYPES: Final = {"CollabAgentToolCall": "collabAgentToolCall"}


def _agent_message(fields: dict[str, Any]) -> None:
    fields["text"] = "".join(str(part.get("text", "")) for part in fields.pop("content", ()))


def _reasoning(fields: dict[str, Any]) -> None:
    fields["summary"], fields["content"] = fields.pop("summary_text", []), fields.pop("raw_content", [])


def _user_message(fields: dict[str, Any]) -> None:
    names = {"local_image": "localImage"}
    fields["content"] = [{**part, "type": names.get(part["type"], part["type"])} for part in fields["content"]]


def _command(fields: dict[str, Any]) -> None:
    words = fields["command"]
    fields["command"] = words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    names = {"list_files": "listFiles"}
    actions = fields.pop("parsed_cmd", None) or []
    fields["commandActions"] = [
        {**each, "type": names.get(each["type"], each["type"]), "command": each.get("cmd", "")} for each in actions
    ]
    for name in ("aggregated_output", "exit_code"):
        fields[_camel(name)] = fields.pop(name, None)
    for name in ("cwd", "source", "process_id"):
        fields.pop(name, None)


def _patch(fields: dict[str, Any]) -> None:
    changes = fields.pop("changes")
    fields["changes"] = [
        {
            "path": path,
            "kind": {"type": each.get("type", "update"), "move_path": each.get("move_path")},
            "diff": each.get("unified_diff") or each.get("content") or "",
        }
        for path, each in changes.items()
    ]


def _review(fields: dict[str, Any]) -> None:
    output = fields.get("review_output")
    said = output.get("overall_explanation") if isinstance(output, dict) else None
    fields["review"] = str(said or fields.get("user_facing_hint") or "")


def _path(fields: dict[str, Any]) -> None:
    fields["path"] = str(fields.get("path") or "").removeprefix("file://")


def _snake(fields: dict[str, Any]) -> None:
    for name in [each for each in fields if "_" in each]:
        fields[_camel(name)] = fields.pop(name)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


SPELLINGS: Final = {
    "AgentMessage": _agent_message,
    "Reasoning": _reasoning,
    "UserMessage": _user_message,
    "CommandExecution": _command,
    "FileChange": _patch,
    "EnteredReviewMode": _review,
    "ExitedReviewMode": _review,
    "ImageView": _path,
    "DynamicToolCall": _snake,
    "ImageGeneration": _snake,
    "CollabAgentToolCall": _snake,
}
