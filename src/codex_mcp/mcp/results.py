"""Pure. How an outcome looks to a client.

Some clients show their model only `structuredContent`, others only `content`, and of an error only `content`. So each
says everything that is needed to go on: an error text ends with the thread id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from codex_mcp.threads.record import Outcome, Status

Result = dict[str, object]

STILL_RUNNING: Final = (
    "The agent is still working ({activity}, {seconds:.0f} s so far). It goes on without this call: "
    'collect its answer with codex_wait {{"threadIds": ["{thread_id}"]}}.'
)
INTERRUPTED: Final = "The turn was interrupted"
GOES_ON: Final = "codex-reply continues the thread"
GOES_ON_ELSEWHERE: Final = "the thread is lost; codex-reply goes on with the agent in a new one"
LOST: Final = "the thread is lost; codex starts a new one"


def refused(text: str) -> Result:
    """A call that could not even begin."""
    return {"content": [_text(text)], "isError": True}


def refused_in_thread(text: str, thread_id: str) -> Result:
    """A call that failed in a thread whose id is known."""
    structured = {"threadId": thread_id, "content": text, "status": Status.FAILED}
    return {"content": [_text(text)], "structuredContent": structured, "isError": True}


def turn_result(outcome: Outcome, names: Mapping[str, object] | None = None, *, lost: bool = False) -> Result:
    """The result of `codex` and `codex-reply`; `names` is what else is known of the thread, which may be lost."""
    structured = described(outcome, names)
    if outcome.status in (Status.FAILED, Status.INTERRUPTED):
        if not outcome.thread_id and not names:
            return refused(str(structured["content"]))  # an old Codex did not even begin the thread
        name = f"codex_id: {structured['codex_id']}, " if "codex_id" in structured else ""
        how = GOES_ON if not lost else GOES_ON_ELSEWHERE if name else LOST
        text = f"{_words(structured)}\n\n{name}threadId: {outcome.thread_id} ({how})"
        return {"content": [_text(text)], "structuredContent": structured, "isError": True}
    return {"content": [_text(_words(structured))], "structuredContent": structured}


def no_names(_: str) -> Mapping[str, object]:
    """What is known of a thread besides its id, where nothing is."""
    return {}


def wait_result(outcomes: Sequence[Outcome], names: Callable[[str], Mapping[str, object]] = no_names) -> Result:
    """The result of `codex_wait`."""
    turns = [described(outcome, names(outcome.thread_id)) for outcome in outcomes]
    running = [turn for turn in turns if turn["status"] is Status.RUNNING]
    finished = [turn for turn in turns if turn["status"] is not Status.RUNNING]
    paragraphs = [f"[{_shown_name(turn)}] {turn['status']}\n{_words(turn)}" for turn in (*finished, *running)]
    text = "\n\n".join(paragraphs) or "Nothing is running, and nothing is left to collect."
    return {"content": [_text(text)], "structuredContent": {"finished": finished, "running": running}}


def _shown_name(turn: Mapping[str, object]) -> object:
    if "identity" not in turn:
        return turn["threadId"]
    return f"{turn['identity']}, {turn['codex_id']}"


def described(outcome: Outcome, names: Mapping[str, object] | None = None) -> dict[str, object]:
    """An outcome as structured content: what may be long comes last, since of much text a model sees the beginning."""
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
    described["content"] = _content(outcome)
    described["filesChanged"] = [{"path": change.path, "kind": change.kind} for change in outcome.files]
    return described


def _words(turn: Mapping[str, object]) -> str:
    """What a text says of a turn: its warnings, then its content."""
    warnings = turn.get("warnings", ())
    assert isinstance(warnings, Sequence)
    return "\n\n".join([*(f"Warning: {warning}" for warning in warnings), str(turn["content"])])


def _content(outcome: Outcome) -> str:
    match outcome.status:
        case Status.RUNNING:
            return STILL_RUNNING.format(activity=outcome.activity, seconds=outcome.seconds, thread_id=outcome.thread_id)
        case Status.INTERRUPTED:
            return f"{INTERRUPTED}. {outcome.content}".rstrip() if outcome.content else f"{INTERRUPTED}."
        case _:
            return outcome.content


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}
