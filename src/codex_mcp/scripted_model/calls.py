"""Pure. Tool calls as output items of the Responses API.

step     the request offers            becomes
-------  ----------------------------  --------------------------------------------------
run                                    exec_command
patch    apply_patch, freeform         apply_patch with the patch as it is
patch    apply_patch, function         apply_patch with {"input": patch}
patch    no apply_patch                exec_command with a here-document, which Codex understands as a patch
plan                                   update_plan
call                                   the named tool, in its namespace if there is one
"""

from collections.abc import Mapping

import msgspec

from codex_mcp.scripted_model.playing import Beat
from codex_mcp.scripted_model.request import call_id
from codex_mcp.scripted_model.steps import Call, Patch, Plan, PlanItem, Run, Step

Item = dict[str, object]

PASSED_ON = (
    "workdir",
    "justification",
    "prefix_rule",
    "yield_time_ms",
    "max_output_tokens",
    "tty",
    "login",
    "shell",
    "environment_id",
)
"""Fields of a `run` step that are arguments of exec_command with the same name."""


def tool_calls(beat: Beat, tools: Mapping[str, str], name: str) -> list[Item]:
    """The calls of a step. `tools` maps the name of each offered tool to its type."""
    return [
        {**item, "call_id": call_id(name, beat.index, number)} for number, item in enumerate(_items(beat.step, tools))
    ]


def _items(step: Step, tools: Mapping[str, str]) -> list[Item]:
    match step:
        case Run(run=str() as command):
            return [_exec(command, step)]
        case Run(run=list() as commands):
            return [_exec(command, step) for command in commands]
        case Patch():
            return [_patch(step, tools.get("apply_patch"))]
        case Plan():
            return [_plan(step)]
        case Call():
            return [_call(step)]
        case _:
            raise AssertionError(f"{step!r} calls no tool")


def _exec(command: str, run: Run) -> Item:
    given = {key: getattr(run, key) for key in PASSED_ON}
    arguments = {"cmd": command, **{key: value for key, value in given.items() if value is not None}}
    if run.escalate:
        arguments["sandbox_permissions"] = "require_escalated"
    return _function("exec_command", arguments)


def _patch(patch: Patch, tool_type: str | None) -> Item:
    if tool_type == "custom":
        return _freeform("apply_patch", patch.patch)
    if tool_type == "function":
        return _function("apply_patch", {"input": patch.patch})
    command = f"apply_patch <<'EOF'\n{patch.patch.rstrip()}\nEOF\n"
    return _exec(command, Run(run=command, workdir=patch.workdir))


def _plan(plan: Plan) -> Item:
    items = [item if isinstance(item, PlanItem) else PlanItem(step=item) for item in plan.plan]
    explanation = {} if plan.explanation is None else {"explanation": plan.explanation}
    return _function("update_plan", {**explanation, "plan": items})


def _call(call: Call) -> Item:
    item = _function(call.call, call.arguments) if call.input is None else _freeform(call.call, call.input)
    return item if call.namespace is None else {**item, "namespace": call.namespace}


def _function(name: str, arguments: object) -> Item:
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return {"type": "function_call", "name": name, "arguments": text}


def _freeform(name: str, text: str) -> Item:
    return {"type": "custom_tool_call", "name": name, "input": text}
