"""What we list is valid, honest, and the same as what we read."""

from collections.abc import Mapping

import jsonschema
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.schema.catalogue import CODEX, CODEX_REPLY, CODEX_WAIT, TOOLS, Tool
from codex_mcp.mcp.schema.fields import BadArguments
from tests.support.json_values import JSON_VALUES

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)

GOOD: list[tuple[Tool, dict[str, object]]] = [
    (CODEX, {"prompt": "hi"}),
    (CODEX, {"prompt": "", "config": {"a.b": {"c": [1, None]}}, "output-schema": {"type": "object"}}),
    (CODEX, {"prompt": "hi", "approval-policy": "on-failure", "sandbox": "read-only", "include-plan-tool": True}),
    (CODEX, {"prompt": "hi", "images": ["a.png"], "events": "none", "background": True, "wait-seconds": 0}),
    (CODEX_REPLY, {"threadId": "t", "prompt": "hi"}),
    (CODEX_REPLY, {"conversationId": "t", "prompt": "hi", "wait-seconds": 1.5}),
    (CODEX_WAIT, {}),
    (CODEX_WAIT, {"threadIds": ["t"], "timeout-seconds": 10}),
]

BAD: list[tuple[Tool, dict[str, object]]] = [
    (CODEX, {}),
    (CODEX, {"prompt": 1}),
    (CODEX, {"prompt": "hi", "frobnicate": 1}),
    (CODEX, {"prompt": "hi", "sandbox": "none"}),
    (CODEX, {"prompt": "hi", "wait-seconds": -1}),
    (CODEX, {"prompt": "hi", "images": "a.png"}),
    (CODEX_REPLY, {"threadId": "t"}),
    (CODEX_WAIT, {"prompt": "hi"}),
]


def validator(schema: object) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema)


def is_read(tool: Tool, arguments: Mapping[str, object]) -> bool:
    try:
        tool.read(arguments)
    except BadArguments:
        return False
    return True


@each_tool
def test_the_schemas_are_json_schema_of_2020_12(tool: Tool) -> None:
    listed = tool.listed()
    jsonschema.Draft202012Validator.check_schema(listed["inputSchema"])
    jsonschema.Draft202012Validator.check_schema(listed["outputSchema"])


@each_tool
def test_the_official_models_accept_what_we_list(tool: Tool) -> None:
    model = mcp_types.Tool.model_validate(tool.listed())
    assert model.name == tool.name
    assert model.input_schema["type"] == "object"


@pytest.mark.parametrize(("tool", "arguments"), GOOD)
def test_a_good_call_fits_the_schema_and_is_read(tool: Tool, arguments: dict[str, object]) -> None:
    validator(tool.listed()["inputSchema"]).validate(arguments)
    tool.read(arguments)


@pytest.mark.parametrize(("tool", "arguments"), BAD)
def test_a_bad_call_fits_neither(tool: Tool, arguments: dict[str, object]) -> None:
    assert not validator(tool.listed()["inputSchema"]).is_valid(arguments)
    assert not is_read(tool, arguments)


@each_tool
@given(data=st.data())
def test_what_fits_the_schema_is_read_and_what_is_read_fits_the_schema(tool: Tool, data: st.DataObject) -> None:
    fitting = {field.name: st.sampled_from(field.choices) if field.choices else JSON_VALUES for field in tool.fields}
    arguments = data.draw(st.fixed_dictionaries({}, optional=fitting))
    # Null is read as left out, which a schema could only say at the price of a null in every type; and infinity fits
    # a schema, but no JSON.
    sent = {name: value for name, value in arguments.items() if value is not None and value != float("inf")}
    assert validator(tool.listed()["inputSchema"]).is_valid(sent) == is_read(tool, sent)


def test_names_are_unique_and_the_old_ones() -> None:
    assert [tool.name for tool in TOOLS] == ["codex", "codex-reply", "codex_wait"]
    for tool in TOOLS:
        names = [field.name for field in tool.fields]
        assert len(names) == len(set(names))


def test_the_arguments_of_the_old_server_are_all_there() -> None:
    old = {"prompt", "model", "cwd", "approval-policy", "sandbox", "config", "base-instructions"}
    old |= {"developer-instructions", "compact-prompt", "profile", "include-plan-tool"}
    assert old <= {field.name for field in CODEX.fields}
    assert {"threadId", "conversationId", "prompt"} <= {field.name for field in CODEX_REPLY.fields}
