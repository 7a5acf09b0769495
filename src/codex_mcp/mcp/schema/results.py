"""Pure. The results of `codex`, `codex-reply` and `codex_wait`.

Some clients show their model only `structuredContent`, others only `content`, and for an error only `content`. So each
has everything that is needed to continue: an error text ends with the thread id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.codex.facts import FileChange
from codex_mcp.mcp.schema.answer_size import SHORT, WHOLE, AnswerSize, Part, Reads, beginning, part_of
from codex_mcp.threads.news import NewsKind
from codex_mcp.threads.record import Outcome, Status

Result = dict[str, object]

FACTS: Final = {NewsKind.PAUSE: "paused", NewsKind.CLOSE: "closed"}
"""The fields of a `codex_wait` result for news that is not a turn."""

STILL_RUNNING: Final = (
    "The agent is still working ({activity}, {seconds:.0f} s so far). It goes on without this call: "
    "collect its answer with {wait}."
)
WAITING_FOR_DECISION: Final = (
    "The agent waits for a decision ({seconds:.0f} s so far):\n\n{asks}\n\n"
    "Once that is decided, collect its answer with {wait}."
)
NOTHING_TO_REPORT: Final = "Nothing is running, and nothing is left to collect."
UNCHANGED: Final = (
    "Nothing new: the last turn is {status}, and its answer was delivered before. "
    "codex_wait with `again: true` repeats it; {goes_on}."
)
INTERRUPTED: Final = "The turn was interrupted"
CUT: Final = "[Characters {begin} to {end} of {total}.{rest}]"
REST: Final = " The rest: {wait}, or the resource {uri}."
ELSEWHERE: Final = (
    "{beginning}\n[… The answer has {total} characters; all that was sent is in `{place}` of this result.]"
)


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
    size: AnswerSize = WHOLE,
) -> Result:
    """The result of `codex` and `codex-reply`; `names` are more fields about the thread."""
    turn = described(outcome, names, asks, size)
    if outcome.status in (Status.FAILED, Status.INTERRUPTED):
        if not outcome.thread_id and not names:
            return refused(str(turn["content"]))  # an old Codex did not begin the thread
        name = f"codex_id: {turn['codex_id']}, " if "codex_id" in turn else ""
        structured, words = _once(turn, Reads.TEXT)  # of an error, clients read only the text
        text = f"{words}\n\n{name}threadId: {outcome.thread_id} ({goes_on})"
        return {"content": [text_block(text), *_links([turn])], "structuredContent": structured, "isError": True}
    structured, words = _once(turn, size.reads)
    return {"content": [text_block(words), *_links([turn])], "structuredContent": structured}


class WaitReport(Struct, frozen=True):
    """The contents of a `codex_wait` result; turns are in the form of `described`."""

    finished: Sequence[dict[str, object]] = ()
    running: Sequence[dict[str, object]] = ()
    unchanged: Sequence[tuple[dict[str, object], GoesOn]] = ()
    """Ended turns whose answers were returned before, and how their conversations can be continued."""
    facts: Sequence[tuple[NewsKind, dict[str, object]]] = ()
    """Agents that were paused or closed; `content` has it in words."""


def wait_result(report: WaitReport, reads: Reads = Reads.TEXT) -> Result:
    """The result of `codex_wait`. Unchanged turns are listed only if there is no news."""
    finished = [_once(turn, reads) for turn in report.finished]
    structured: dict[str, object] = {"finished": [turn for turn, _ in finished], "running": list(report.running)}
    for kind, name in FACTS.items():
        if facts := [fact for each, fact in report.facts if each is kind]:
            structured[name] = facts
    others = [*(fact for _, fact in report.facts), *report.running]
    told = [*finished, *((other, _words(other)) for other in others)]
    if not told and report.unchanged:
        structured["unchanged"] = unchanged = [_unchanged(turn, goes_on) for turn, goes_on in report.unchanged]
        told = [(turn, _words(turn)) for turn in unchanged]
    paragraphs = [f"[{_shown_name(turn)}] {turn['status']}\n{words}" for turn, words in told]
    text = text_block("\n\n".join(paragraphs) or NOTHING_TO_REPORT)
    return {"content": [text, *_links(report.finished)], "structuredContent": structured}


def _once(turn: dict[str, object], reads: Reads) -> tuple[dict[str, object], str]:
    """The structured content of a turn, and its text. A long answer is whole only in the one that the client reads."""
    answer = str(turn["content"])
    if len(answer) <= SHORT:
        return turn, _words(turn)
    total = _total(turn, answer)
    short = {**turn, "content": ELSEWHERE.format(beginning=beginning(answer), total=total, place=reads)}
    return (turn, _words(short)) if reads is Reads.DATA else (short, _words(turn))


def _total(turn: Mapping[str, object], answer: str) -> object:
    part = turn.get("part")
    return part["chars"] if isinstance(part, Mapping) else len(answer)


def _links(turns: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Links to the rest of answers that were cut."""
    parts = [(turn["threadId"], turn.get("part")) for turn in turns]
    return [
        {"type": "resource_link", "uri": part["rest"], "name": f"{thread_id}-answer", "mimeType": "text/markdown"}
        for thread_id, part in parts
        if isinstance(part, Mapping) and "rest" in part
    ]


def _unchanged(turn: Mapping[str, object], goes_on: GoesOn) -> dict[str, object]:
    kept = {key: turn[key] for key in ("codex_id", "identity", "team", "threadId", "status") if key in turn}
    return {**kept, "content": UNCHANGED.format(status=turn["status"], goes_on=goes_on)}


def _shown_name(turn: Mapping[str, object]) -> object:
    return f"{turn['identity']}, {turn['codex_id']}" if "identity" in turn else turn["threadId"]


def described(
    outcome: Outcome,
    names: Mapping[str, object] | None = None,
    asks: Sequence[str] = (),
    size: AnswerSize = WHOLE,
    begin: int = 0,
) -> dict[str, object]:
    """An outcome as structured content; `asks` are the open questions in words, `begin` the answer's first character.

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
    if outcome.cost is not None:
        described["cost"] = round(outcome.cost, 6)
    if outcome.warnings:
        described["warnings"] = list(outcome.warnings)
    part = part_of(_content(outcome, asks, described), begin, size.chars)
    if not part.is_whole:
        described["part"] = _place(part, outcome.thread_id)
    described["content"] = part.text if part.is_whole else _noted(part, described)
    if outcome.work is not None:
        described["worktree"] = msgspec.to_builtins(outcome.work)
    described["filesChanged"] = [_file(change) for change in outcome.files]
    return described


def _file(change: FileChange) -> dict[str, object]:
    file: dict[str, object] = {"path": change.path, "kind": change.kind}
    return file if change.added is None else {**file, "lines": f"+{change.added} -{change.removed or 0}"}


def _place(part: Part, thread_id: str) -> dict[str, object]:
    place: dict[str, object] = {"begin": part.begin, "end": part.end, "chars": part.total}
    return place if part.is_last else {**place, "rest": f"codex://threads/{thread_id}/answer?from={part.end}"}


def _noted(part: Part, turn: Mapping[str, object]) -> str:
    """A part of an answer, with a note that says which part it is and how to get the rest."""
    place = turn["part"]
    uri = place.get("rest") if isinstance(place, Mapping) else None
    rest = "" if uri is None else REST.format(wait=_wait_call(turn, offset=part.end), uri=uri)
    return f"{part.text}\n\n{CUT.format(begin=part.begin, end=part.end, total=part.total, rest=rest)}"


def _words(turn: Mapping[str, object]) -> str:
    warnings = turn.get("warnings", ())
    assert isinstance(warnings, Sequence)
    return "\n\n".join([*(f"Warning: {warning}" for warning in warnings), str(turn["content"])])


def _wait_call(turn: Mapping[str, object], **more: object) -> str:
    """The call of `codex_wait` for this turn's agent or thread."""
    key, name = ("ids", turn["codex_id"]) if "codex_id" in turn else ("threadIds", turn["threadId"])
    return f"codex_wait {json.dumps({key: [name], **more})}"


def _content(outcome: Outcome, asks: Sequence[str], turn: Mapping[str, object]) -> str:
    match outcome.status:
        case Status.RUNNING if asks:
            told = "\n\n".join(asks)
            return WAITING_FOR_DECISION.format(seconds=outcome.seconds, asks=told, wait=_wait_call(turn))
        case Status.RUNNING:
            seconds = outcome.seconds
            return STILL_RUNNING.format(activity=outcome.activity, seconds=seconds, wait=_wait_call(turn))
        case Status.INTERRUPTED:
            return f"{INTERRUPTED}. {outcome.content}".rstrip() if outcome.content else f"{INTERRUPTED}."
        case _:
            return outcome.content


def text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


NOTHING_NEW: Final = wait_result(WaitReport())
"""The result of a wait without anything to wait for."""
