"""Pure. What Codex asks a person, as one value per kind of question.

`question_from` reads a request of the app-server. A request that cannot be read gives an `Unreadable`, never an
exception: the caller refuses it with `approvals.refusal`. A patch request carries no patch; the caller brings the
changes that it remembers of the item.
"""

import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import ClassVar

import msgspec
from msgspec import Struct, field

from codex_mcp.wire.app.notifications import AboutItem
from codex_mcp.wire.app.questions import (
    CommandAction,
    CommandApproval,
    FileChangeApproval,
    InputQuestion,
    NetworkAmendment,
    NetworkContext,
    OfferedDecision,
    OldAnnouncement,
    OldQuestion,
    PermissionsApproval,
    ServerElicitation,
    UserInputRequest,
)

Json = Mapping[str, object]


class Kind(StrEnum):
    """What is asked for."""

    EXEC = "exec"
    PATCH = "patch"
    PERMISSIONS = "permissions"
    USER_INPUT = "user_input"
    MCP = "mcp"


class Method(StrEnum):
    """The core's requests that need a person; OLD is that of an old `codex mcp-server`, for commands and patches."""

    EXEC = "item/commandExecution/requestApproval"
    PATCH = "item/fileChange/requestApproval"
    PERMISSIONS = "item/permissions/requestApproval"
    USER_INPUT = "item/tool/requestUserInput"
    MCP = "mcpServer/elicitation/request"
    OLD = "elicitation/create"


TOOL_APPROVAL = "mcp_tool_call"
"""The `codex_approval_kind` of a question that Codex itself asks before it calls a tool of an inner MCP server."""

OLD_ACTION_TYPES = {"read": "read", "listFiles": "list_files", "search": "search"}
"""Names of a parsed command's parts in `codex_parsed_cmd`; everything else is `unknown`."""


class Asked(Struct, frozen=True, kw_only=True):
    """What every question has. `item_id` is "" for questions of an inner MCP server, which belong to no item."""

    thread_id: str
    turn_id: str
    item_id: str = ""
    reason: str = ""
    is_old: bool = False
    """An old Codex asks, and is answered in its own words."""


class CommandQuestion(Asked, frozen=True, kw_only=True):
    """May this command run (or this text go to a running terminal, or this host be reached)?"""

    kind: ClassVar[Kind] = Kind.EXEC
    method: ClassVar[Method] = Method.EXEC
    command_line: str
    command: tuple[str, ...]
    cwd: str
    parsed_cmd: tuple[Json, ...] = ()
    is_stdin: bool = False
    environment: str = ""
    proposed_rule: tuple[str, ...] = ()
    network: NetworkContext | None = None
    network_rules: tuple[NetworkAmendment, ...] = ()
    permissions: Json | None = None
    offers_session: bool = False


class PatchQuestion(Asked, frozen=True, kw_only=True):
    """May these files be changed?"""

    kind: ClassVar[Kind] = Kind.PATCH
    method: ClassVar[Method] = Method.PATCH
    changes: Json = field(default_factory=dict)
    grant_root: str = ""


class PermissionsQuestion(Asked, frozen=True, kw_only=True):
    """May the turn have these permissions?"""

    kind: ClassVar[Kind] = Kind.PERMISSIONS
    method: ClassVar[Method] = Method.PERMISSIONS
    cwd: str
    permissions: Json


class UserQuestion(Asked, frozen=True, kw_only=True):
    """What does the user say to these questions of the model?"""

    kind: ClassVar[Kind] = Kind.USER_INPUT
    method: ClassVar[Method] = Method.USER_INPUT
    questions: tuple[InputQuestion, ...]
    is_blocking: bool = True


class ServerQuestion(Asked, frozen=True, kw_only=True):
    """An MCP server inside Codex asks the user, or Codex asks whether its tool may be called (`is_tool_approval`)."""

    kind: ClassVar[Kind] = Kind.MCP
    method: ClassVar[Method] = Method.MCP
    server_name: str
    mode: str
    message: str
    schema: Json | None = None
    url: str = ""
    elicitation_id: str = ""
    meta: Json = field(default_factory=dict)
    is_tool_approval: bool = False
    offers_session: bool = False
    offers_always: bool = False


Question = CommandQuestion | PatchQuestion | PermissionsQuestion | UserQuestion | ServerQuestion


class Unreadable(Struct, frozen=True):
    """A request that we could not understand, and why. It must be refused."""

    method: str
    why: str


def question_from(method: str, params: msgspec.Raw, changes: Json | None = None) -> Question | Unreadable:
    """Read a request of the app-server. `changes` are those of the fileChange item, in the old shape."""
    read = READERS.get(method)
    if read is None:
        return Unreadable(method, f"cannot ask the user: {method} is not a question that we know")
    try:
        return read(params, changes or {})
    except (msgspec.DecodeError, RecursionError) as exc:
        return Unreadable(method, f"cannot ask the user: {method} came malformed: {exc}")


def item_of(params: msgspec.Raw) -> str:
    """The id of the item that a request is about; "" if there is none."""
    try:
        return _about_item.decode(params).item_id
    except msgspec.MsgspecError:
        return ""


_about_item = msgspec.json.Decoder(AboutItem)


def command_argv(command_line: str) -> tuple[str, ...]:
    """The command as a list, as 0.153.4 sent it. What cannot be split is shown as a script, whole."""
    try:
        argv = shlex.split(command_line)
    except ValueError:
        return ("bash", "-lc", command_line)
    return tuple(argv)


def old_action(action: CommandAction) -> dict[str, object]:
    """A part of the parsed command in the shape of `codex_parsed_cmd`."""
    kind = OLD_ACTION_TYPES.get(action.type, "unknown")
    match kind:
        case "read":
            return {"type": kind, "cmd": action.command, "name": action.name, "path": action.path}
        case "list_files":
            return {"type": kind, "cmd": action.command, "path": action.path}
        case "search":
            return {"type": kind, "cmd": action.command, "query": action.query, "path": action.path}
        case _:
            return {"type": kind, "cmd": action.command}


def _command(params: msgspec.Raw, _changes: Json) -> Question:
    asked = msgspec.json.decode(params, type=CommandApproval)
    offered = asked.available_decisions
    carrying = [offer for offer in offered or [] if isinstance(offer, OfferedDecision)]
    line = asked.command or ""
    return CommandQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        reason=asked.reason or "",
        command_line=line,
        command=command_argv(line),
        cwd=asked.cwd or "",
        parsed_cmd=tuple(old_action(action) for action in asked.command_actions or []),
        is_stdin=asked.kind == "writeStdin",
        environment=asked.environment_id or "",
        proposed_rule=_rule(asked, carrying),
        network=asked.network_approval_context,
        network_rules=_network_rules(asked, carrying),
        permissions=asked.additional_permissions,
        # A Codex that lists nothing leaves the choice to us; a list without it means that it is not to be shown.
        offers_session=offered is None or "acceptForSession" in offered,
    )


def _rule(asked: CommandApproval, carrying: list[OfferedDecision]) -> tuple[str, ...]:
    for offer in carrying:
        if offer.accept_with_execpolicy_amendment is not None:
            return tuple(offer.accept_with_execpolicy_amendment.execpolicy_amendment)
    return tuple(asked.proposed_execpolicy_amendment or ())


def _network_rules(asked: CommandApproval, carrying: list[OfferedDecision]) -> tuple[NetworkAmendment, ...]:
    applied = [offer.apply_network_policy_amendment for offer in carrying]
    rules = [rule.network_policy_amendment for rule in applied if rule is not None]
    rules += asked.proposed_network_policy_amendments or []
    return tuple(dict.fromkeys(rule for rule in rules if rule.action in ("allow", "deny")))


def _patch(params: msgspec.Raw, changes: Json) -> Question:
    asked = msgspec.json.decode(params, type=FileChangeApproval)
    return PatchQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        reason=asked.reason or "",
        changes=changes,
        grant_root=asked.grant_root or "",
    )


def _permissions(params: msgspec.Raw, _changes: Json) -> Question:
    asked = msgspec.json.decode(params, type=PermissionsApproval)
    return PermissionsQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        reason=asked.reason or "",
        cwd=asked.cwd,
        permissions=asked.permissions,
    )


def _user_input(params: msgspec.Raw, _changes: Json) -> Question:
    asked = msgspec.json.decode(params, type=UserInputRequest)
    return UserQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        questions=tuple(asked.questions),
        is_blocking=asked.is_blocking,
    )


def _server(params: msgspec.Raw, _changes: Json) -> Question:
    asked = msgspec.json.decode(params, type=ServerElicitation)
    meta = asked.meta or {}
    persist = meta.get("persist")
    lasting = persist if isinstance(persist, list) else [persist]
    return ServerQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id or "",
        server_name=asked.server_name,
        mode=asked.mode,
        message=asked.message or asked.title or "",
        schema=asked.requested_schema,
        url=asked.url or "",
        elicitation_id=asked.elicitation_id or "",
        meta=meta,
        is_tool_approval=_is_tool_approval(asked),
        offers_session="session" in lasting,
        offers_always="always" in lasting,
    )


def _old(params: msgspec.Raw, _changes: Json) -> Question:
    whole = msgspec.json.decode(params, type=OldQuestion)
    asked, said = whole.elicitation, whole.announced or OldAnnouncement()
    if asked.codex_elicitation == "patch-approval":
        return PatchQuestion(
            thread_id=asked.thread_id or "",
            turn_id=asked.codex_event_id,
            item_id=asked.codex_call_id,
            reason=asked.codex_reason or "",
            is_old=True,
            changes=asked.codex_changes,
            grant_root=asked.codex_grant_root or "",
        )
    return CommandQuestion(
        thread_id=asked.thread_id or "",
        turn_id=asked.codex_event_id,
        item_id=asked.codex_call_id,
        reason=said.reason or "",
        is_old=True,
        command_line=shlex.join(asked.codex_command),
        command=tuple(asked.codex_command),
        cwd=asked.codex_cwd,
        parsed_cmd=tuple(asked.codex_parsed_cmd),
        proposed_rule=tuple(said.proposed_execpolicy_amendment or ()),
        offers_session=said.available_decisions is None or "approved_for_session" in said.available_decisions,
    )


def _is_tool_approval(asked: ServerElicitation) -> bool:
    """Codex's own question has no fields; a server that borrows its mark for a form of its own gets its form shown."""
    fields = (asked.requested_schema or {}).get("properties")
    return not fields and (asked.meta or {}).get("codex_approval_kind") == TOOL_APPROVAL


READERS: dict[str, Callable[[msgspec.Raw, Json], Question]] = {
    Method.EXEC: _command,
    Method.PATCH: _patch,
    Method.PERMISSIONS: _permissions,
    Method.USER_INPUT: _user_input,
    Method.MCP: _server,
    Method.OLD: _old,
}
