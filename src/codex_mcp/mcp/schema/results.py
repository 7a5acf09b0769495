"""Pure. The results of `codex`, `codex-reply` and `codex_wait`.

Some clients show their model only `structuredContent`, others only `content`, and for an error perhaps the other one
(`answer_size`). So each has everything that is needed to continue: the text ends with the thread id, unless the client
is known to show the structured content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple

from codex_mcp.base.printable import foreign
from codex_mcp.codex.facts import FileChange
from codex_mcp.mcp.known_clients import Shows
from codex_mcp.mcp.news import NewsKind
from codex_mcp.mcp.schema.answer_size import SHORT, WHOLE, Part, Reader, beginning, part_of
from codex_mcp.threads.record import Outcome, Status

Block: TypeAlias = Mapping[str, object]
"""A part of the content, as MCP writes it."""


class ToolResult(Struct, frozen=True, omit_defaults=True):
    """What a tool answers, as it is sent."""

    content: Sequence[Block]
    data: Mapping[str, object] | None = field(name="structuredContent", default=None)
    is_error: bool = field(name="isError", default=False)
    meta: Mapping[str, object] | None = field(name="_meta", default=None)

    @property
    def status(self) -> str:
        """That of its turn, or of what it is about; empty without one."""
        return str((self.data or {}).get("status", ""))

    def fields(self) -> dict[str, object]:
        """The same, to be sent with more fields."""
        pairs = zip(self.__struct_encode_fields__, astuple(self), strict=True)
        return {name: value for name, value in pairs if value not in (None, False)}


Result: TypeAlias = ToolResult | dict[str, object]
"""What a call is answered: its result, or what MCP has in place of one: questions, a task, a look at a wait."""

FACTS: Final = {NewsKind.PAUSE: "paused", NewsKind.CLOSE: "closed", NewsKind.PERSON: "people"}
"""The fields of a `codex_wait` result for news that is not a turn."""

STILL_RUNNING: Final = (
    "The agent is still working ({activity}, {seconds:.0f} s so far). It goes on without this call: "
    "collect its answer with {wait}.{ends}"
)
ENDS_WITH_SERVER: Final = (
    " It ends with this server; a client that starts a server for each call needs one that stays: "
    "`codex-mcp mcp-server --port PORT`, or `codex-mcp serve --port PORT`, and its address."
)
WAITING_FOR_DECISION: Final = (
    "The agent waits for a decision ({seconds:.0f} s so far):\n\n{asks}\n\n"
    "Once that is decided, collect its answer with {wait}."
)
NOTHING_TO_REPORT: Final = (
    "Nothing is running, and nothing is left to collect. If a call ended without its answer, `again: true` repeats it."
)
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
IN_THE_TEXT: Final = "[in the text of this result]"
AT_WORK: Final = "Still working: {activity}, {seconds:.0f} s"
LONGEST_ACTIVITY: Final = 80
"""Characters of what an agent does. A lead reads this line of each of its agents whenever one of them has news."""


class GoesOn(StrEnum):
    REPLY = "codex-reply continues the thread"
    NEW_THREAD = "the thread is lost; codex starts a new one"
    REPLY_IN_NEW_THREAD = "the thread is lost; codex-reply continues the agent in a new one"
    RESUME = "the agent is closed; codex with its codex_id resumes it"
    NO_AGENT = "the thread belongs to no agent, and codex-reply cannot continue it"
    OTHER_SERVER = "another server runs the agent now; it can be continued there"


def written(
    *texts: str, data: Mapping[str, object] | None = None, links: Sequence[Block] = (), is_error: bool = False
) -> ToolResult:
    """A result: its text, the same as data, and links to resources."""
    return ToolResult([*map(text_block, texts), *links], None if data is None else dict(data), is_error)


def refused(text: str) -> ToolResult:
    return written(text, is_error=True)


def refused_in_thread(text: str, thread_id: str, reader: Reader = WHOLE) -> ToolResult:
    turn: dict[str, object] = {"threadId": thread_id, "content": text, "status": Status.FAILED}
    structured, words = _placed(turn, reader.for_error)
    return written(words, data=structured, is_error=True)


def turn_result(
    outcome: Outcome,
    names: Mapping[str, object] | None = None,
    asks: Sequence[str] = (),
    *,
    goes_on: GoesOn = GoesOn.REPLY,
    reader: Reader = WHOLE,
) -> ToolResult:
    """The result of `codex` and `codex-reply`; `names` are more fields about the thread."""
    turn = described(outcome, names, asks, reader)
    is_error = outcome.status in (Status.FAILED, Status.INTERRUPTED)
    if is_error and not outcome.thread_id and not names:
        return refused(str(turn["content"]))  # an old Codex did not begin the thread
    if is_error:
        reader = reader.for_error
    structured, words = _placed(turn, reader)
    blocks = [words]
    if is_error or (reader.needs_id and outcome.status is not Status.RUNNING):
        name = f"codex_id: {turn['codex_id']}, " if "codex_id" in turn else ""
        told = f"{name}threadId: {outcome.thread_id} ({goes_on})"
        blocks = [words, told] if reader.is_json and not is_error else [f"{words}\n\n{told}".lstrip("\n")]
    return written(*blocks, data=structured, links=_links([turn], reader), is_error=is_error)


class WaitReport(Struct, frozen=True):
    """The contents of a `codex_wait` result; ended turns are in the form of `described`."""

    finished: Sequence[dict[str, object]] = ()
    running: Sequence[dict[str, object]] = ()
    """Those that ask in the form of `described`, the others of `at_work`."""
    unchanged: Sequence[tuple[dict[str, object], GoesOn]] = ()
    """Ended turns whose answers were returned before, and how their conversations can be continued."""
    facts: Sequence[tuple[NewsKind, dict[str, object]]] = ()
    """Agents that were paused or closed; `content` has it in words."""


def wait_result(report: WaitReport, reader: Reader = WHOLE) -> ToolResult:
    """The result of `codex_wait`. Unchanged turns are listed only if there is no news."""
    finished = [_placed(turn, reader) for turn in report.finished]
    running = [_placed(turn, reader) for turn in report.running]
    structured: dict[str, object] = {
        "finished": [turn for turn, _ in finished],
        "running": [turn for turn, _ in running],
    }
    facts = [(kind, _placed(fact, reader)) for kind, fact in report.facts]
    for kind, name in FACTS.items():
        if of_kind := [fact for each, (fact, _) in facts if each is kind]:
            structured[name] = of_kind
    told = [*finished, *(fact for _, fact in facts), *running]
    if not told and report.unchanged:
        told = [_placed(_unchanged(turn, goes_on), reader) for turn, goes_on in report.unchanged]
        structured["unchanged"] = [turn for turn, _ in told]
    paragraphs = [f"[{_shown_name(turn)}] {turn['status']}\n{words}" for turn, words in told]
    text = "\n\n".join(paragraphs) or NOTHING_TO_REPORT
    return written(text, data=structured, links=_links(report.finished, reader))


def _placed(turn: dict[str, object], reader: Reader) -> tuple[dict[str, object], str]:
    """The structured content of a turn, and its text: the answer is where the client's model reads it."""
    answer = str(turn["content"])
    if reader.shows in (Shows.BOTH, Shows.TEXT_OR_BOTH):
        words = answer if reader.shows is Shows.BOTH else _words(turn)
        return ({**turn, "content": IN_THE_TEXT} if answer else turn), words
    if reader.shows is Shows.UNKNOWN or len(answer) <= SHORT:
        return turn, _words(turn)
    place = "structuredContent" if reader.shows is Shows.DATA else "content"
    told = ELSEWHERE.format(beginning=beginning(answer), total=_total(turn, answer), place=place)
    short = {**turn, "content": told}
    return (turn, _words(short)) if reader.shows is Shows.DATA else (short, _words(turn))


def _total(turn: Mapping[str, object], answer: str) -> object:
    part = turn.get("part")
    return part["chars"] if isinstance(part, Mapping) else len(answer)


def _links(turns: Iterable[Mapping[str, object]], reader: Reader) -> list[Block]:
    """Links to the rest of answers that were cut."""
    parts = [(turn["threadId"], turn.get("part")) for turn in turns] if reader.takes_links else []
    return [
        {"type": "resource_link", "uri": part["rest"], "name": f"{thread_id}-answer", "mimeType": "text/markdown"}
        for thread_id, part in parts
        if isinstance(part, Mapping) and "rest" in part
    ]


def _unchanged(turn: Mapping[str, object], goes_on: GoesOn) -> dict[str, object]:
    kept = {key: turn[key] for key in ("codex_id", "identity", "team", "threadId", "status") if key in turn}
    return {**kept, "content": UNCHANGED.format(status=turn["status"], goes_on=goes_on)}


def _shown_name(turn: Mapping[str, object]) -> object:
    return f"{turn['identity']}, {turn['codex_id']}" if "identity" in turn else f"threadId: {turn['threadId']}"


def described(
    outcome: Outcome,
    names: Mapping[str, object] | None = None,
    asks: Sequence[str] = (),
    reader: Reader = WHOLE,
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
    if (used := outcome.usage_to_tell) is not None:
        described["usage"] = msgspec.to_builtins(used)
    if outcome.error is not None:
        described["error"] = msgspec.to_builtins(outcome.error)
    if (cost := outcome.cost_to_tell) is not None:
        described["cost"] = round(cost, 6)
    if outcome.warnings:
        described["warnings"] = list(outcome.warnings)
    part = part_of(_content(outcome, asks, described, reader), begin, reader.chars)
    if not part.is_whole:
        described["part"] = _place(part, outcome.thread_id)
    described["content"] = part.text if part.is_whole else _noted(part, described)
    if outcome.work is not None:
        described["worktree"] = msgspec.to_builtins(outcome.work)
    if outcome.files or outcome.status in (Status.RUNNING, Status.COMPLETED):  # else its files were not looked at
        described["filesChanged"] = [_file(change) for change in outcome.files]
    return described


def at_work(outcome: Outcome, names: Mapping[str, object]) -> dict[str, object]:
    """A running turn for somebody who waits: one line about what it does."""
    doing = AT_WORK.format(activity=foreign(outcome.activity, LONGEST_ACTIVITY), seconds=outcome.seconds)
    told: dict[str, object] = {**names, "threadId": outcome.thread_id, "status": outcome.status, "content": doing}
    return {**told, "warnings": list(outcome.warnings)} if outcome.warnings else told


def _file(change: FileChange) -> dict[str, object]:
    file: dict[str, object] = {"path": change.path, "kind": change.kind}
    if not change.is_certain:
        file["certain"] = False
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


def _content(outcome: Outcome, asks: Sequence[str], turn: Mapping[str, object], reader: Reader) -> str:
    match outcome.status:
        case Status.RUNNING if asks:
            told = "\n\n".join(asks)
            return WAITING_FOR_DECISION.format(seconds=outcome.seconds, asks=told, wait=_wait_call(turn))
        case Status.RUNNING:
            ends = ENDS_WITH_SERVER if reader.may_end_server else ""
            return STILL_RUNNING.format(
                activity=outcome.activity, seconds=outcome.seconds, wait=_wait_call(turn), ends=ends
            )
        case Status.INTERRUPTED:
            return f"{INTERRUPTED}. {outcome.content}".rstrip() if outcome.content else f"{INTERRUPTED}."
        case _:
            return outcome.content


def text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


NOTHING_NEW: Final = wait_result(WaitReport())
"""The result of a wait without anything to wait for."""
