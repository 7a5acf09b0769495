"""Steps that call tools become the calls that Codex understands."""

import msgspec
import pytest

from codex_mcp.scripted_model.calls import tool_calls
from codex_mcp.scripted_model.playing import Beat
from codex_mcp.scripted_model.steps import Call, Patch, Plan, PlanItem, Run, Step

PATCH = "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\n"
HEREDOC = f"apply_patch <<'EOF'\n{PATCH}EOF\n"


def exec_command(**arguments: object) -> dict[str, object]:
    return {"type": "function_call", "name": "exec_command", "arguments": arguments}


TABLE: list[tuple[Step, dict[str, str], list[dict[str, object]]]] = [
    (Run(run="ls"), {}, [exec_command(cmd="ls")]),
    (Run(run=["ls", "pwd"], tty=True), {}, [exec_command(cmd="ls", tty=True), exec_command(cmd="pwd", tty=True)]),
    (
        Run(run="ls", escalate=True, justification="must", workdir="d", yield_time_ms=5, login=False),
        {},
        [
            exec_command(
                cmd="ls",
                workdir="d",
                justification="must",
                yield_time_ms=5,
                login=False,
                sandbox_permissions="require_escalated",
            )
        ],
    ),
    (
        Patch(patch=PATCH),
        {"apply_patch": "custom"},
        [{"type": "custom_tool_call", "name": "apply_patch", "input": PATCH}],
    ),
    (
        Patch(patch=PATCH),
        {"apply_patch": "function"},
        [{"type": "function_call", "name": "apply_patch", "arguments": {"input": PATCH}}],
    ),
    (Patch(patch=PATCH, workdir="d"), {"exec_command": "function"}, [exec_command(cmd=HEREDOC, workdir="d")]),
    (
        Plan(plan=["Look", PlanItem(step="Test", status="completed")], explanation="so"),
        {},
        [
            {
                "type": "function_call",
                "name": "update_plan",
                "arguments": {
                    "explanation": "so",
                    "plan": [{"step": "Look", "status": "pending"}, {"step": "Test", "status": "completed"}],
                },
            }
        ],
    ),
    (
        Call(call="echo", namespace="mcp__x", arguments={"a": 1}),
        {},
        [{"type": "function_call", "name": "echo", "namespace": "mcp__x", "arguments": {"a": 1}}],
    ),
    (Call(call="t", arguments='{"a": 2}'), {}, [{"type": "function_call", "name": "t", "arguments": {"a": 2}}]),
    (Call(call="t", input="free"), {}, [{"type": "custom_tool_call", "name": "t", "input": "free"}]),
]


@pytest.mark.parametrize(("step", "tools", "expected"), TABLE, ids=[type(row[0]).__name__ for row in TABLE])
def test_a_step_becomes_calls_that_name_their_step(
    step: Step, tools: dict[str, str], expected: list[dict[str, object]]
) -> None:
    calls = tool_calls(Beat(3, step), tools, "ab")
    for call in calls:
        if isinstance(call.get("arguments"), str):
            call["arguments"] = msgspec.json.decode(str(call["arguments"]))
    assert calls == [{**call, "call_id": f"call_ab_3_{number}"} for number, call in enumerate(expected)]


def test_a_step_that_calls_no_tool_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="calls no tool"):
        tool_calls(Beat(0, Step()), {}, "ab")
