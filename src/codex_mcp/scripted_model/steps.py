"""Pure. The steps of a scene: what a scripted model can do, and how a TOML table becomes a step.

One leading key (`say`, `run`, …) names the kind of a step. An error names the file, scene, step and field.
"""

import re
from typing import Annotated, Literal

import msgspec

from codex_mcp.base.errors import Refused

Count = Annotated[int, msgspec.Meta(ge=1)]
Many = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
HttpFailure = Annotated[int, msgspec.Meta(ge=400, le=599)]

ENDLESS_INTERVAL = 0.05
"""Default seconds between the parts of an endless stream: visible progress, hardly any load."""


class ScriptError(Refused):
    """A script cannot be used. The text is a sentence that says where and why."""


class PlanItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    step: str
    status: Literal["pending", "in_progress", "completed"] = "pending"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of every step: when it is played, and its token usage."""

    if_output: str | None = None
    unless_output: str | None = None
    expect: str | None = None
    otherwise: str | None = None
    end: bool = False
    usage: dict[str, Many] = {}


class Say(Step, frozen=True, kw_only=True):
    """Answer with a text, at once or streamed in `deltas` parts."""

    say: str
    deltas: Count = 1
    interval: Seconds = 0.0
    phase: Literal["commentary", "final_answer"] | None = None


class Stream(Step, frozen=True, kw_only=True):
    """Repeat a text `count` times, or endlessly."""

    stream: str
    count: Count = 10
    interval: Seconds | None = None
    endless: bool = False


class Think(Step, frozen=True, kw_only=True):
    """Show a summary of the reasoning; a list gives several sections."""

    think: str | list[str]
    deltas: Count = 1
    interval: Seconds = 0.0


class Search(Step, frozen=True, kw_only=True):
    """Report a web search, as models do that search on their own server; nothing is searched."""

    search: str


class Run(Step, frozen=True, kw_only=True):
    """Run a command; a list runs several in parallel calls of one response."""

    run: str | list[str]
    workdir: str | None = None
    escalate: bool = False
    justification: str | None = None
    prefix_rule: list[str] | None = None
    yield_time_ms: Many | None = None
    max_output_tokens: Many | None = None
    tty: bool | None = None
    login: bool | None = None
    shell: str | None = None
    environment_id: str | None = None


class Patch(Step, frozen=True, kw_only=True):
    """Apply a patch with the patch tool that the request offers."""

    patch: str
    workdir: str | None = None


class Plan(Step, frozen=True, kw_only=True):
    """Set the plan (needs `tools.update_plan.enabled` in Codex)."""

    plan: list[str | PlanItem]
    explanation: str | None = None


class Call(Step, frozen=True, kw_only=True):
    """Call any tool by name: `arguments` for a function, `input` for a freeform tool."""

    call: str
    namespace: str | None = None
    arguments: dict[str, object] | str = {}
    input: str | None = None


class Wait(Step, frozen=True, kw_only=True):
    """Pause for some seconds, or until the client disconnects."""

    wait: Seconds | Literal["disconnect"]


class Gate(Step, frozen=True, kw_only=True):
    """Pause until the gate of this name is opened, or `file` exists."""

    gate: str
    file: str | None = None


class Fail(Step, frozen=True, kw_only=True):
    """Answer with an HTTP error; after `times` failures (0: never) continue with the next step."""

    fail: HttpFailure
    message: str = "the script says so"
    code: str | None = None
    body: str | None = None
    headers: dict[str, str] = {}
    times: Many = 0


class Error(Step, frozen=True, kw_only=True):
    """End the stream with a `response.failed` event that carries this error code."""

    error: str
    message: str = "the script says so"
    times: Many = 0


class Disconnect(Step, frozen=True, kw_only=True):
    """Begin a text ("" for none), and break the connection before it is complete."""

    disconnect: str
    times: Many = 0


KINDS: dict[str, type[Step]] = {
    kind.__name__.lower(): kind
    for kind in (Say, Stream, Think, Run, Patch, Plan, Call, Search, Wait, Gate, Fail, Error, Disconnect)
}
"""By leading key."""

USAGE_KEYS = ("input", "cached", "output", "reasoning")

_PATH_IN_MESSAGE = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)


def parse_step(table: object, where: str) -> Step:
    """Read a step from a TOML table. `where` names file, scene and step in error texts. Raises ScriptError."""
    if not isinstance(table, dict):
        raise ScriptError(f'cannot use {where}: a step is a table such as {{ say = "Hello" }}, not {table!r}')
    leading = [key for key in KINDS if key in table]
    if len(leading) != 1:
        raise ScriptError(f"cannot use {where}: {_which_kind(table, leading)}")
    kind = KINDS[leading[0]]
    check_keys(table, kind.__struct_fields__, where)
    try:
        # strict=False: a number from a placeholder is text ("{count}" -> "5000").
        step = msgspec.convert(table, kind, strict=False)
    except msgspec.ValidationError as exc:
        raise ScriptError(f"cannot use {where}: {field_error(exc)}") from exc
    _check(step, where)
    return step


def check_keys(table: dict[str, object], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise ScriptError(f"cannot use {where}: unknown key {key!r}; known keys: {', '.join(known)}")


def field_error(exc: msgspec.ValidationError) -> str:
    """A validation error as `field 'x': Expected …`."""
    match = _PATH_IN_MESSAGE.match(str(exc))
    path = match["path"] if match else None
    what = match["what"] if match else str(exc)
    return f"field {path!r}: {what}" if path else what


def check_pattern(pattern: str | None, key: str, where: str) -> None:
    if pattern is None:
        return
    try:
        re.compile(pattern)
    except re.error as exc:
        raise ScriptError(f"cannot use {where}: field {key!r} is not a regular expression: {exc}") from exc


def check_usage(usage: dict[str, int], where: str) -> None:
    for key in usage:
        if key not in USAGE_KEYS:
            known = ", ".join(USAGE_KEYS)
            raise ScriptError(f"cannot use {where}: unknown key {key!r} in usage; known keys: {known}")


def _which_kind(table: dict[str, object], leading: list[str]) -> str:
    if leading:
        return f"it has {' and '.join(map(repr, leading))}; make it {len(leading)} steps"
    keys = ", ".join(map(repr, table)) or "nothing"
    return f"it has {keys} but none of the keys that make a step: {', '.join(KINDS)}"


def _check(step: Step, where: str) -> None:
    check_pattern(step.if_output, "if_output", where)
    check_pattern(step.unless_output, "unless_output", where)
    check_usage(step.usage, where)
    if step.otherwise is not None and step.expect is None:
        raise ScriptError(f"cannot use {where}: field 'otherwise' requires 'expect'")
    if step.end and isinstance(step, Run | Patch | Plan | Call):
        raise ScriptError(
            f"cannot use {where}: field 'end' is not allowed in a step that calls a tool: its answer comes later"
        )
    if isinstance(step, Run | Think) and (step.run if isinstance(step, Run) else step.think) == []:
        raise ScriptError(f"cannot use {where}: the list is empty")
    if isinstance(step, Call) and step.input is not None and step.arguments:
        raise ScriptError(f"cannot use {where}: give either 'arguments' (function) or 'input' (freeform tool)")
