"""Pure. The questions of Codex to a person, one type per kind.

`question_from` converts a core's request. A request that cannot be understood becomes an `UnreadableQuestion`, which
the caller refuses with `approvals.refusal`. A request about a patch does not contain the patch: the caller provides
the changes of its item.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import Struct, field

from codex_mcp.threads.events.commands import argv, parsed_commands
from codex_mcp.wire.app.questions import (
    Asked,
    CommandApproval,
    Elicitation,
    FileChangeApproval,
    InputQuestion,
    NetworkAmendment,
    NetworkContext,
    OfferedDecision,
    PermissionsApproval,
    ServerElicitation,
    UnreadableQuestion,
    UserInputRequest,
    malformed,
    unknown,
)

if TYPE_CHECKING:
    from codex_mcp.wire.legacy import LegacyApproval

Json = Mapping[str, object]


class QuestionKind(StrEnum):
    EXEC = "exec"
    PATCH = "patch"
    PERMISSIONS = "permissions"
    USER_INPUT = "user_input"
    MCP = "mcp"


class Method(StrEnum):
    """The core's requests that need a person. OLD is an old `codex mcp-server`'s request for commands and patches."""

    EXEC = "item/commandExecution/requestApproval"
    PATCH = "item/fileChange/requestApproval"
    PERMISSIONS = "item/permissions/requestApproval"
    USER_INPUT = "item/tool/requestUserInput"
    MCP = "mcpServer/elicitation/request"
    OLD = "elicitation/create"


TOOL_APPROVAL = "mcp_tool_call"
"""The `codex_approval_kind` of a question that Codex itself asks before it calls a tool of an inner MCP server."""


class AnyQuestion(Struct, frozen=True, kw_only=True):
    """`item_id` is "" for questions of an inner MCP server."""

    thread_id: str
    turn_id: str
    item_id: str = ""
    id: str = ""
    """`TURN/question-N`, given when Codex asks and kept for its life; empty before that."""
    reason: str = ""
    asker: str = ""
    """The sub-agent that asks it, and whose it is; empty if the thread itself asks."""
    is_old: bool = False
    """From an old Codex, whose answers have another form."""


class CommandQuestion(AnyQuestion, frozen=True, kw_only=True):
    """About a command, input for a running terminal, or access to a host."""

    kind: ClassVar[QuestionKind] = QuestionKind.EXEC
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


class PatchQuestion(AnyQuestion, frozen=True, kw_only=True):
    kind: ClassVar[QuestionKind] = QuestionKind.PATCH
    method: ClassVar[Method] = Method.PATCH
    changes: Json = field(default_factory=dict)
    grant_root: str = ""


class PermissionsQuestion(AnyQuestion, frozen=True, kw_only=True):
    kind: ClassVar[QuestionKind] = QuestionKind.PERMISSIONS
    method: ClassVar[Method] = Method.PERMISSIONS
    cwd: str
    permissions: Json


class UserQuestion(AnyQuestion, frozen=True, kw_only=True):
    """Questions of the model to the user."""

    kind: ClassVar[QuestionKind] = QuestionKind.USER_INPUT
    method: ClassVar[Method] = Method.USER_INPUT
    questions: tuple[InputQuestion, ...]
    is_blocking: bool = True


class ServerQuestion(AnyQuestion, frozen=True, kw_only=True):
    """A question of an MCP server inside Codex, or whether its tool may be called (`is_tool_approval`)."""

    kind: ClassVar[QuestionKind] = QuestionKind.MCP
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


def question_from(
    asked: Asked, changes_of: Callable[[str], Json | None] = lambda _: None
) -> Question | UnreadableQuestion:
    """`changes_of` returns the changes of a fileChange item, in the shape of 0.153.4."""
    if isinstance(asked, UnreadableQuestion):
        return asked
    if isinstance(asked, FileChangeApproval):
        return _patch(asked, changes_of(asked.item_id) or {})
    make = _MAKERS.get(asked.method)
    if make is None:
        return unknown(asked.method, asked.thread_id)
    try:
        question: Question = make(asked)
        return question
    except msgspec.ValidationError as exc:
        return malformed(asked.method, exc, asked.thread_id)


def command_argv(command_line: str) -> tuple[str, ...]:
    """The command as a list, as in 0.153.4 and in the events of the command."""
    return tuple(argv(command_line))


def _command(asked: CommandApproval) -> Question:
    offered = asked.available_decisions
    offers = msgspec.convert(offered or [], list[str | OfferedDecision])
    carrying = [offer for offer in offers if isinstance(offer, OfferedDecision)]
    line = asked.command or ""
    return CommandQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        reason=asked.reason or "",
        command_line=line,
        command=command_argv(line),
        cwd=asked.cwd or "",
        parsed_cmd=tuple(parsed_commands(asked.command_actions or [])),
        is_stdin=asked.kind == "writeStdin",
        environment=asked.environment_id or "",
        proposed_rule=_rule(asked, carrying),
        network=msgspec.convert(asked.network_approval_context, NetworkContext | None),
        network_rules=_network_rules(asked, carrying),
        permissions=asked.additional_permissions,
        # Without a list the choice is ours; a list without this decision means that it must not be offered.
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
    rules += msgspec.convert(asked.proposed_network_policy_amendments or [], list[NetworkAmendment])
    return tuple(dict.fromkeys(rule for rule in rules if rule.action in ("allow", "deny")))


def _patch(asked: FileChangeApproval, changes: Json) -> Question:
    return PatchQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        reason=asked.reason or "",
        changes=changes,
        grant_root=asked.grant_root or "",
    )


def _permissions(asked: PermissionsApproval) -> Question:
    return PermissionsQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        reason=asked.reason or "",
        cwd=asked.cwd,
        permissions=asked.permissions,
    )


def _user_input(asked: UserInputRequest) -> Question:
    return UserQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        item_id=asked.item_id,
        questions=msgspec.convert(asked.questions, tuple[InputQuestion, ...]),
        is_blocking=asked.is_blocking,
    )


def _server(asked: ServerElicitation) -> Question:
    elicitation = msgspec.convert(asked.params, Elicitation)
    meta = elicitation.meta or {}
    persist = meta.get("persist")
    lasting = persist if isinstance(persist, list) else [persist]
    # Codex's own question has no fields; a server's form with the same mark is shown as a form.
    fields = (elicitation.requested_schema or {}).get("properties")
    return ServerQuestion(
        thread_id=asked.thread_id,
        turn_id=asked.turn_id or "",
        server_name=elicitation.server_name,
        mode=elicitation.mode,
        message=elicitation.message or elicitation.title or "",
        schema=elicitation.requested_schema,
        url=elicitation.url or "",
        elicitation_id=elicitation.elicitation_id or "",
        meta=meta,
        is_tool_approval=not fields and meta.get("codex_approval_kind") == TOOL_APPROVAL,
        offers_session="session" in lasting,
        offers_always="always" in lasting,
    )


def _old(approval: LegacyApproval) -> Question:
    asked, said = approval.elicitation, approval.announced
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


_MAKERS: dict[str, Callable[[Any], Question]] = {
    Method.EXEC: _command,
    Method.PERMISSIONS: _permissions,
    Method.USER_INPUT: _user_input,
    Method.MCP: _server,
    Method.OLD: _old,
}
