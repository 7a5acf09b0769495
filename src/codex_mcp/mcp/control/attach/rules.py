"""Pure. What becomes of the requests of a Codex TUI that is attached to one agent.

    the request                          what becomes of it
    -----------------------------------  ----------------------------------------------------------------------
    about another thread                 refused, as if there were none
    a row with `Does.ASK`                Codex is asked the same, with the fields that the row keeps
    a row with `Does.KNOW`               answered from what the server knows
    a row with `Does.ACT`                done as a prompt or a stop of a caller is: queue, limits and audit apply
    a row with `Does.REFUSE`             refused, with what the person can do instead
    a row with `Does.WARN`               nothing, and the person reads why: an error would end the TUI
    none of these                        refused: a newer TUI gains nothing

Nothing that a TUI sends changes a setting: the folder, sandbox, model and approvals that it adds to a prompt are left
out. A person who may only watch gets no row with `Does.ACT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.base.printable import foreign
from codex_mcp.wire.app.requests import ImageInput, LocalImageInput, TextInput
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, ErrorObject

MOST_PARTS: Final = 64
"""Of one prompt: texts and pictures."""

MOST_PICTURES: Final = 16

WATCHES: Final = "this TUI only watches the agent; attach without --read-only to steer it"
OTHER_THREAD: Final = "there is no such conversation here: this TUI is attached to one agent"
NO_PROMPT: Final = "the prompt is empty"
TOO_MANY_PARTS: Final = f"a prompt has at most {MOST_PARTS} parts, {MOST_PICTURES} of them pictures"

SETTINGS: Final = (
    "a TUI cannot change the settings of an agent (model, permissions, folder); whoever starts the agent sets them"
)
ONE_AGENT: Final = "a TUI that is attached to an agent shows this one conversation; run codex for one of your own"
HISTORY: Final = "a TUI cannot change the history of an agent"
NO_COMMANDS: Final = (
    "a TUI cannot run commands beside the agent, which would have no sandbox; ask the agent, or use another terminal"
)
NO_FILES: Final = "a TUI has no access to files through the agent's server; use another terminal"
NO_STOPS: Final = "a TUI cannot end commands that the agent has left running; ask the agent to end them"
NO_SERVERS: Final = "a TUI does not see the MCP servers and plugins of the agent's server"
NO_REVIEW: Final = "a TUI cannot start a review; ask the agent, or call the tool codex_review"
NO_GOAL: Final = "a TUI cannot change the goal of an agent; whoever gave the goal can (codex-reply)"
NO_SIGN_IN: Final = "a TUI cannot change the sign-in of the agent's server; run codex-mcp login"
NO_FEEDBACK: Final = "nothing of an agent's conversation is sent to OpenAI from here"


class Level(StrEnum):
    WATCH = "watch"
    CONTROL = "control"


class Scope(Struct, frozen=True):
    """What a TUI is attached to, and what its person may do there."""

    thread_id: str
    cwd: str
    level: Level = Level.CONTROL


class Known(StrEnum):
    """What the server answers by itself."""

    GREETING = "greeting"
    CONVERSATION = "conversation"
    LOADED = "loaded"
    LIST = "list"
    NOTHING = "nothing"


class Does(StrEnum):
    ASK = "ask"
    KNOW = "know"
    ACT = "act"
    REFUSE = "refuse"
    WARN = "warn"


class Act(StrEnum):
    BEGIN = "begin"
    STEER = "steer"
    STOP = "stop"


class Row(Struct, frozen=True):
    does: Does
    keeps: tuple[str, ...] = ()
    """Of the fields of its params."""
    of_thread: bool = False
    """It names the thread."""
    known: Known = Known.NOTHING
    act: Act = Act.BEGIN
    why: str = ""


def _asks(*keeps: str) -> Row:
    return Row(Does.ASK, keeps)


def _reads(*keeps: str) -> Row:
    return Row(Does.ASK, keeps, of_thread=True)


def _knows(known: Known, *, of_thread: bool = False) -> Row:
    return Row(Does.KNOW, known=known, of_thread=of_thread)


def _acts(act: Act) -> Row:
    return Row(Does.ACT, of_thread=True, act=act)


def _refused(why: str, *methods: str) -> dict[str, Row]:
    return dict.fromkeys(methods, Row(Does.REFUSE, why=why))


def _warned(why: str, *methods: str) -> dict[str, Row]:
    return dict.fromkeys(methods, Row(Does.WARN, why=why))


PAGE: Final = ("cursor", "limit", "sortDirection", "itemsView")

FOLDERS: Final = {"cwd": "one", "cwds": "many"}
"""Fields that name folders; those of the agent take their place."""

TABLE: Final[Mapping[str, Row]] = {
    "initialize": _knows(Known.GREETING),
    "account/read": _asks(),
    "account/rateLimits/read": _asks(),
    "model/list": _asks("cursor", "limit", "includeHidden"),
    "config/read": _asks("cwd"),
    "configRequirements/read": _asks(),
    "collaborationMode/list": _asks(),
    "hooks/list": _asks("cwds"),
    "skills/list": _asks("cwds"),
    "thread/resume": _knows(Known.CONVERSATION, of_thread=True),
    "thread/read": _reads("includeTurns"),
    "thread/turns/list": _reads(*PAGE),
    "thread/items/list": _reads(*PAGE, "turnId"),
    "thread/goal/get": _reads(),
    "thread/backgroundTerminals/list": _reads("cursor", "limit"),
    "thread/list": _knows(Known.LIST),
    "thread/loaded/list": _knows(Known.LOADED),
    "thread/unsubscribe": _knows(Known.NOTHING, of_thread=True),
    "turn/start": _acts(Act.BEGIN),
    "turn/steer": _acts(Act.STEER),
    "turn/interrupt": _acts(Act.STOP),
    **_refused(
        SETTINGS,
        "thread/settings/update",
        "config/value/write",
        "config/batchWrite",
        "config/mcpServer/reload",
        "skills/config/write",
        "thread/memoryMode/set",
        "thread/metadata/update",
        "thread/environment/connection/set",
        "thread/elicitation/setMode",
        "experimentalFeature/enablement/set",
        "environment/add",
        "plugin/install",
        "plugin/uninstall",
        "marketplace/add",
        "marketplace/remove",
    ),
    **_refused(ONE_AGENT, "thread/start", "thread/fork"),
    **_refused(HISTORY, "thread/unarchive", "thread/rollback", "thread/revert", "thread/inject_items"),
    **_warned(NO_COMMANDS, "thread/shellCommand"),
    **_refused(
        NO_COMMANDS,
        "command/exec",
        "command/exec/write",
        "command/exec/terminate",
        "command/exec/resize",
        "process/spawn",
        "process/writeStdin",
        "process/kill",
        "process/resizePty",
    ),
    **_refused(
        NO_FILES,
        "fs/readFile",
        "fs/writeFile",
        "fs/createDirectory",
        "fs/getMetadata",
        "fs/readDirectory",
        "fs/remove",
        "fs/copy",
        "fs/watch",
        "fs/unwatch",
        "fuzzyFileSearch",
        "fuzzyFileSearch/sessionStart",
        "fuzzyFileSearch/sessionUpdate",
        "fuzzyFileSearch/sessionStop",
    ),
    **_warned(NO_REVIEW, "review/start"),
    **_warned(HISTORY, "thread/compact/start", "thread/archive", "thread/delete", "thread/name/set"),
    **_warned(NO_STOPS, "thread/backgroundTerminals/clean", "thread/backgroundTerminals/terminate"),
    "permissionProfile/list": Row(Does.REFUSE, why=SETTINGS),
    "mcpServerStatus/list": Row(Does.REFUSE, why=NO_SERVERS),
    "plugin/list": Row(Does.REFUSE, why=NO_SERVERS),
    **_refused(NO_GOAL, "thread/goal/set", "thread/goal/clear"),
    **_refused(NO_SIGN_IN, "account/login/start", "account/login/cancel", "account/logout"),
    **_refused(NO_FEEDBACK, "feedback/upload"),
}


class Ask(Struct, frozen=True):
    """Codex is asked this."""

    method: str
    params: dict[str, object]


class Tell(Struct, frozen=True):
    """It is answered from what the server knows."""

    known: Known
    params: Mapping[str, object]


class Begin(Struct, frozen=True):
    """A prompt for a turn of its own."""

    parts: tuple[TextInput | ImageInput | LocalImageInput, ...]
    message_id: str = ""


class Steer(Struct, frozen=True):
    """A prompt for the turn that runs, if it is this one."""

    parts: tuple[TextInput | ImageInput | LocalImageInput, ...]
    turn_id: str
    message_id: str = ""


class Stop(Struct, frozen=True):
    """The turn that runs is to be stopped, if it is this one; empty: any."""

    turn_id: str


class Warn(Struct, frozen=True):
    """Nothing is done, and the person reads why."""

    why: str


Verdict: TypeAlias = Warn | Ask | Tell | Begin | Steer | Stop | ErrorObject


def verdict_on(method: str, params: Mapping[str, object], scope: Scope) -> Verdict:
    row = TABLE.get(method)
    if row is None:
        unknown = f"{foreign(method, 100)} is not offered to a TUI that is attached to an agent"
        return ErrorObject(METHOD_NOT_FOUND, unknown)
    if row.does is Does.REFUSE:
        return _no(row.why)
    if row.does is Does.WARN:
        return Warn(row.why)
    if row.of_thread and params.get("threadId") != scope.thread_id:
        return _no(OTHER_THREAD)
    if row.does is Does.KNOW:
        return Tell(row.known, params)
    if row.does is Does.ASK:
        return Ask(method, _kept(row, params, scope))
    if scope.level is not Level.CONTROL:
        return _no(WATCHES)
    return _act(row.act, params)


def _no(why: str) -> ErrorObject:
    return ErrorObject(INVALID_REQUEST, why)


def _kept(row: Row, params: Mapping[str, object], scope: Scope) -> dict[str, object]:
    kept: dict[str, object] = {"threadId": scope.thread_id} if row.of_thread else {}
    for name in row.keeps:
        if name in FOLDERS:
            kept[name] = scope.cwd if FOLDERS[name] == "one" else [scope.cwd]
        elif name in params:
            kept[name] = params[name]
    return kept


def _act(act: Act, params: Mapping[str, object]) -> Verdict:
    if act is Act.STOP:
        return Stop(_text(params.get("turnId")))
    parts = _parts(params.get("input"))
    if isinstance(parts, str):
        return ErrorObject(INVALID_PARAMS, parts)
    message_id = _text(params.get("clientUserMessageId"))
    if act is Act.STEER:
        return Steer(parts, _text(params.get("expectedTurnId")), message_id)
    return Begin(parts, message_id)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _parts(given: object) -> tuple[TextInput | ImageInput | LocalImageInput, ...] | str:
    """What the model is to be told; or why not. Mentions of skills and apps are left out: the text has them as well."""
    found: list[TextInput | ImageInput | LocalImageInput] = []
    for each in _list(given):
        match each:
            case {"type": "text", "text": str(text)} if text:
                found.append(TextInput(text))
            case {"type": "image", "url": str(url)}:
                found.append(ImageInput(url))
            case {"type": "localImage", "path": str(path)}:
                found.append(LocalImageInput(path))
    if not found:
        return NO_PROMPT
    pictures = sum(not isinstance(part, TextInput) for part in found)
    return TOO_MANY_PARTS if len(found) > MOST_PARTS or pictures > MOST_PICTURES else tuple(found)
