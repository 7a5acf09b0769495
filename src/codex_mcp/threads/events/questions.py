"""Pure. The events that announce a question of the app-server."""

from __future__ import annotations

from codex_mcp.threads.events.commands import argv, parsed_commands
from codex_mcp.threads.events.spelling import decision, present, snake_keys
from codex_mcp.wire.app.items import CommandExecution
from codex_mcp.wire.app.questions import (
    CommandApproval,
    FileChangeApproval,
    PermissionsApproval,
    ToolCallRequest,
    UserInputRequest,
)


def exec_approval_request(question: CommandApproval, item: CommandExecution) -> dict[str, object]:
    """The question; fields that it omits are taken from the item. Unlike in other events, `cwd` is a plain path."""
    offered, actions = question.available_decisions, question.command_actions
    return {
        "type": "exec_approval_request",
        "kind": question.kind,
        "call_id": question.item_id,
        **present(approval_id=question.approval_id),
        "turn_id": question.turn_id,
        **present(environmentId=question.environment_id),
        "started_at_ms": question.started_at_ms,
        "command": argv(item.command if question.command is None else question.command),
        "cwd": question.cwd or item.cwd,
        **present(
            reason=question.reason,
            network_approval_context=snake_keys(question.network_approval_context),
            proposed_execpolicy_amendment=question.proposed_execpolicy_amendment,
            proposed_network_policy_amendments=question.proposed_network_policy_amendments,
            additional_permissions=snake_keys(question.additional_permissions),
            available_decisions=None if offered is None else [decision(each) for each in offered],
        ),
        "parsed_cmd": parsed_commands(item.command_actions if actions is None else actions),
    }


def apply_patch_approval_request(question: FileChangeApproval, changes: dict[str, object]) -> dict[str, object]:
    return {
        "type": "apply_patch_approval_request",
        "call_id": question.item_id,
        "turn_id": question.turn_id,
        "started_at_ms": question.started_at_ms,
        "changes": changes,
        **present(reason=question.reason, grant_root=question.grant_root),
    }


def request_permissions(question: PermissionsApproval) -> dict[str, object]:
    return {
        "type": "request_permissions",
        "call_id": question.item_id,
        "turn_id": question.turn_id,
        **present(environmentId=question.environment_id),
        "started_at_ms": question.started_at_ms,
        **present(reason=question.reason),
        "permissions": snake_keys(question.permissions),
        "cwd": question.cwd,
    }


def request_user_input(question: UserInputRequest) -> dict[str, object]:
    """Its field names were camelCase in 0.153.4, too."""
    return {
        "type": "request_user_input",
        "call_id": question.item_id,
        "turn_id": question.turn_id,
        "questions": question.questions,
        "isBlocking": question.is_blocking,
        **present(autoResolutionMs=question.auto_resolution_ms),
    }


def dynamic_tool_call_request(question: ToolCallRequest, started_at_ms: int) -> dict[str, object]:
    """Its field names were camelCase in 0.153.4, too."""
    return {
        "type": "dynamic_tool_call_request",
        "callId": question.call_id,
        "turnId": question.turn_id,
        "startedAtMs": started_at_ms,
        "namespace": question.namespace,
        "tool": question.tool,
        "arguments": question.arguments,
    }


def elicitation_request(question: dict[str, object]) -> dict[str, object]:
    """An MCP server of Codex asks the user. The app-server reports its id only in mode url."""
    request = {
        (
            "requested_schema" if name == "requestedSchema" else "elicitation_id" if name == "elicitationId" else name
        ): value
        for name, value in question.items()
        if name not in {"threadId", "turnId", "serverName"} and value is not None
    }
    return {
        "type": "elicitation_request",
        **present(turn_id=question.get("turnId")),
        "server_name": question.get("serverName", ""),
        "id": question.get("elicitationId") or "",
        "request": request,
    }
