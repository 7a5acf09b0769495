"""Pure. The results of `codex`, `codex-reply` and `codex_wait`.

Some clients show their model only `structuredContent`, others only `content`, and for an error only `content`. So each
has everything that is needed to continue: an error text ends with the thread id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.codex.facts import FileChange
from codex_mcp.threads.news import NewsKind
from codex_mcp.threads.record import Outcome, Status

Result = dict[str, object]

FACTS: Final = {NewsKind.PAUSE: "paused", NewsKind.CLOSE: "closed"}
"""The fields of a `codex_wait` result for news that is not a turn."""

STILL_RUNNING: Final = (
    "The agent is still working ({activity}, {seconds:.0f} s so far). It goes on without this call: "
    'collect its answer with codex_wait {{"threadIds": ["{thread_id}"]}}.'
)
WAITING_FOR_DECISION: Final = (
    "The agent waits for a decision ({seconds:.0f} s so far):\n\n{asks}\n\n"
    'Once that is decided, collect its answer with codex_wait {{"threadIds": ["{thread_id}"]}}.'
)
NOTHING_TO_REPORT: Final = "Nothing is running, and nothing is left to collect."
UNCHANGED: Final = (
    "Nothing new: the last turn is {status}, and its answer was delivered before. "
    "codex_wait with `again: true` repeats it; {goes_on}."
)
INTERRUPTED: Final = "The turn was interrupted"


class GoesOn(StrEnum):
    REPLY = "codex-reply continues the thread"
    NEW_THREAD = "the thread is lost; codex starts a new one"
    REPLY_IN_NEW_THREAD = "the thread is lost; codex-reply continues the agent in a new one"
    RESUME = "the agent is closed; codex with its codex_id resumes it"
    NO_AGENT = "the thread belongs to no agent, and codex-reply cannot continue it"
    OTHER_SERVER = "another server runs the agent now; it can be continued there"


def refused(text: str) -> Result:
    return {"content": [text_block(text)], "isError": True}


def refused_in_thread(text: str, thread_id: str) -> Result:
    structured = {"threadId": thread_id, "content": text, "status": Status.FAILED}
    return {"content": [text_block(text)], "structuredContent": structured, "isError": True}


def turn_result(
    outcome: Outcome,
    names: Mapping[str, object] | None = None,
    asks: Sequence[str] = (),
    *,
    goes_on: GoesOn = GoesOn.REPLY,
) -> Result:
    """The result of `codex` and `codex-reply`; `names` are more fields about the thread."""
    structured = described(outcome, names, asks)
    if outcome.status in (Status.FAILED, Status.INTERRUPTED):
        if not outcome.thread_id and not names:
            return refused(str(structured["content"]))  # an old Codex did not begin the thread
        name = f"codex_id: {structured['codex_id']}, " if "codex_id" in structured else ""
        text = f"{_words(structured)}\n\n{name}threadId: {outcome.thread_id} ({goes_on})"
        return {"content": [text_block(text)], "structuredContent": structured, "isError": True}
    return {"content": [text_block(_words(structured))], "structuredContent": structured}


class WaitReport(Struct, frozen=True):
    """The contents of a `codex_wait` result; turns are in the form of `described`."""

    finished: Sequence[dict[str, object]] = ()
    running: Sequence[dict[str, object]] = ()
    unchanged: Sequence[tuple[dict[str, object], GoesOn]] = ()
    """Ended turns whose answers were returned before, and how their conversations can be continued."""
    facts: Sequence[tuple[NewsKind, dict[str, object]]] = ()
    """Agents that were paused or closed; `content` has it in words."""


def wait_result(report: WaitReport) -> Result:
    """The result of `codex_wait`. Unchanged turns are listed only if there is no news."""
    structured: dict[str, object] = {"finished": list(report.finished), "running": list(report.running)}
    for kind, name in FACTS.items():
        if facts := [fact for each, fact in report.facts if each is kind]:
            structured[name] = facts
    told = [*report.finished, *(fact for _, fact in report.facts), *report.running]
    if not told and report.unchanged:
        told = [_unchanged(turn, goes_on) for turn, goes_on in report.unchanged]
        structured["unchanged"] = told
    paragraphs = [f"[{_shown_name(turn)}] {turn['status']}\n{_words(turn)}" for turn in told]
    return {"content": [text_block("\n\n".join(paragraphs) or NOTHING_TO_REPORT)], "structuredContent": structured}


def _unchanged(turn: Mapping[str, object], goes_on: GoesOn) -> dict[str, object]:
    kept = {key: turn[key] for key in ("codex_id", "identity", "team", "threadId", "status") if key in turn}
    return {**kept, "content": UNCHANGED.format(status=turn["status"], goes_on=goes_on)}


def _shown_name(turn: Mapping[str, object]) -> object:
    return f"{turn['identity']}, {turn['codex_id']}" if "identity" in turn else turn["threadId"]


def described(
    outcome: Outcome, names: Mapping[str, object] | None = None, asks: Sequence[str] = ()
) -> dict[str, object]:
    """An outcome as structured content; `asks` are the open questions in words.

    Long fields come last, because clients cut long results off at the end.
    """
    described: dict[str, object] = {
        **(names or {}),
        "threadId": outcome.thread_id,
        "status": outcome.status,
        "durationSeconds": round(outcome.seconds, 3),
    }
    if outcome.usage is not None:
        described["usage"] = msgspec.to_builtins(outcome.usage)
    if outcome.warnings:
        described["warnings"] = list(outcome.warnings)
    described["content"] = _content(outcome, asks)
    if outcome.work is not None:
        described["worktree"] = msgspec.to_builtins(outcome.work)
    described["filesChanged"] = [_file(change) for change in outcome.files]
    return described


def _file(change: FileChange) -> dict[str, object]:
    file: dict[str, object] = {"path": change.path, "kind": change.kind}
    return file if change.added is None else {**file, "lines": f"+{change.added} -{change.removed or 0}"}


def _words(turn: Mapping[str, object]) -> str:
    warnings = turn.get("warnings", ())
    assert isinstance(warnings, Sequence)
    return "\n\n".join([*(f"Warning: {warning}" for warning in warnings), str(turn["content"])])


def _content(outcome: Outcome, asks: Sequence[str]) -> str:
    match outcome.status:
        case Status.RUNNING if asks:
            told = "\n\n".join(asks)
            return WAITING_FOR_DECISION.format(seconds=outcome.seconds, asks=told, thread_id=outcome.thread_id)
        case Status.RUNNING:
            return STILL_RUNNING.format(activity=outcome.activity, seconds=outcome.seconds, thread_id=outcome.thread_id)
        case Status.INTERRUPTED:
            return f"{INTERRUPTED}. {outcome.content}".rstrip() if outcome.content else f"{INTERRUPTED}."
        case _:
            return outcome.content


def text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


NOTHING_NEW: Final = wait_result(WaitReport())
"""The result of a wait without anything to wait for."""
