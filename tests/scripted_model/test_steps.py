"""Tables become steps, and what is wrong with a table is said in one sentence."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.scripted_model.steps import (
    KINDS,
    Call,
    Disconnect,
    Error,
    Fail,
    Gate,
    Patch,
    Plan,
    PlanItem,
    Run,
    Say,
    ScriptError,
    Step,
    Stream,
    Think,
    Wait,
    parse_step,
)

WHERE = "step 2 of scene 'x' in a.toml"

GOOD: list[tuple[dict[str, object], Step]] = [
    ({"say": "Hi"}, Say(say="Hi")),
    ({"say": "Hi", "deltas": "3", "interval": "0.5"}, Say(say="Hi", deltas=3, interval=0.5)),
    ({"say": "Hi", "phase": "commentary"}, Say(say="Hi", phase="commentary")),
    ({"stream": "a ", "count": 5000}, Stream(stream="a ", count=5000)),
    ({"stream": "a ", "endless": "true"}, Stream(stream="a ", endless=True)),
    ({"think": ["One", "Two"], "deltas": 2}, Think(think=["One", "Two"], deltas=2)),
    ({"run": "ls"}, Run(run="ls")),
    ({"run": ["ls", "pwd"], "escalate": True}, Run(run=["ls", "pwd"], escalate=True)),
    ({"patch": "*** Begin Patch"}, Patch(patch="*** Begin Patch")),
    (
        {"plan": ["Look", {"step": "Test", "status": "completed"}]},
        Plan(plan=["Look", PlanItem(step="Test", status="completed")]),
    ),
    ({"call": "t", "arguments": {"a": [1]}}, Call(call="t", arguments={"a": [1]})),
    ({"call": "t", "input": "x"}, Call(call="t", input="x")),
    ({"wait": 2}, Wait(wait=2.0)),
    ({"wait": "0.25"}, Wait(wait=0.25)),
    ({"wait": "disconnect"}, Wait(wait="disconnect")),
    ({"gate": "g", "file": "go"}, Gate(gate="g", file="go")),
    ({"fail": "429", "headers": {"retry-after": "1"}}, Fail(fail=429, headers={"retry-after": "1"})),
    ({"error": "server_error", "times": 1}, Error(error="server_error", times=1)),
    ({"disconnect": "And th"}, Disconnect(disconnect="And th")),
    ({"say": "No", "if_output": "a|b", "usage": {"input": 3}}, Say(say="No", if_output="a|b", usage={"input": 3})),
]

BAD: list[tuple[object, str]] = [
    ("say", "a step is a table"),
    ({}, "it has nothing but none of the keys that make a step: say, stream, think, run"),
    ({"sya": "Hi"}, "it has 'sya' but none of the keys that make a step"),
    ({"say": "Hi", "run": "ls"}, "it has 'say' and 'run'; make it 2 steps"),
    ({"say": "Hi", "delta": 3}, "unknown key 'delta'; known keys: "),
    ({"say": 5}, "field 'say': Expected `str`, got `int`"),
    ({"say": "Hi", "deltas": 0}, "field 'deltas': Expected `int` >= 1"),
    ({"say": "Hi", "deltas": "many"}, "field 'deltas': Expected `int`"),
    ({"stream": "a", "interval": -1}, "field 'interval': Expected"),
    ({"wait": "forever"}, "field 'wait': "),
    ({"run": []}, "the list is empty"),
    ({"think": []}, "the list is empty"),
    ({"plan": [{"step": "a", "status": "done"}]}, "field 'plan[0].status': Invalid enum value 'done'"),
    ({"call": "t", "arguments": {"a": 1}, "input": "x"}, "give either 'arguments' (function) or 'input'"),
    ({"fail": 200}, "field 'fail': Expected `int` >= 400"),
    ({"say": "x", "if_output": "("}, "field 'if_output' is not a regular expression"),
    ({"say": "x", "unless_output": "["}, "field 'unless_output' is not a regular expression"),
    ({"run": "x", "end": True}, "field 'end' is not allowed in a step that calls a tool"),
    ({"say": "x", "otherwise": "y"}, "field 'otherwise' requires 'expect'"),
    (
        {"say": "x", "usage": {"inputs": 1}},
        "unknown key 'inputs' in usage; known keys: input, cached, output, reasoning",
    ),
]


@pytest.mark.parametrize(("table", "step"), GOOD, ids=[str(table) for table, _ in GOOD])
def test_a_table_becomes_the_step_that_its_leading_key_names(table: dict[str, object], step: Step) -> None:
    assert parse_step(table, WHERE) == step


@pytest.mark.parametrize(("table", "text"), BAD, ids=[str(table) for table, _ in BAD])
def test_a_wrong_table_is_refused_in_a_sentence_that_says_where_and_why(table: object, text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        parse_step(table, WHERE)
    assert str(caught.value).startswith(f"cannot use {WHERE}: ")
    assert text in str(caught.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*KINDS, "deltas", "usage", "if_output", "x"]), VALUES, max_size=4))
def test_any_table_is_a_step_or_refused_and_nothing_else_happens(table: dict[str, object]) -> None:
    with suppress(ScriptError):
        assert type(parse_step(table, WHERE)) in KINDS.values()
