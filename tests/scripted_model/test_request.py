"""A request tells what the user wrote last, and which step of the scene is next."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Refused
from codex_mcp.scripted_model.request import CONTEXT_OPENINGS, ModelRequest, call_id, read_request

Item = dict[str, object]


def user(text: str) -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def said(text: str) -> Item:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def output(step: int, number: int, value: object, kind: str = "function_call_output") -> Item:
    return {"type": kind, "call_id": call_id("ab12", step, number), "output": value}


def read(*items: Item, headers: dict[str, str] | None = None) -> ModelRequest:
    tools = [
        {"type": "function", "name": "exec_command"},
        {"type": "custom", "name": "apply_patch"},
        {"type": "web_search"},
    ]
    body = {"model": "m", "input": items, "tools": tools, "stream": True}
    return read_request(msgspec.json.encode(body), headers or {})


def test_the_newest_message_counts_and_what_codex_writes_itself_does_not() -> None:
    request = read(
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are"}]},
        user("<environment_context>\n</environment_context>"),
        user("first"),
        output(0, 0, "old"),
        said("done"),
        user("<turn_aborted>\n</turn_aborted>"),
        user("second"),
        headers={"thread-id": "t1", "session-id": "s1"},
    )
    assert request == ModelRequest(
        thread="t1",
        model="m",
        prompt="second",
        opening="first",
        message=2,
        done=0,
        output="",
        tools={"exec_command": "function", "apply_patch": "custom"},
        session="t1",
    )


def test_a_task_of_another_agent_is_a_prompt_and_its_report_is_none() -> None:
    heading = {"type": "input_text", "text": "Message Type: NEW_TASK"}
    task: dict[str, object] = {
        "type": "agent_message",
        "content": [heading, {"type": "encrypted_content", "encrypted_content": "look"}],
    }
    assert read(task).prompt == "look"
    report: dict[str, object] = {
        "type": "agent_message",
        "content": [{"type": "input_text", "text": "Message Type: FINAL_ANSWER"}],
    }
    request = read(user("go"), output(0, 0, "spawned"), report, {"type": "agent_message", "content": "?"})
    assert (request.prompt, request.done) == ("go", 1)


def test_a_goal_is_part_of_the_message_that_goes_on_with_it() -> None:
    """Codex 0.169 tells gpt-6.1-sol the goal once, in an output of its own."""
    goes_on = '<codex_internal_context source="goal">\nGo on.'
    told: list[dict[str, object]] = [
        {"type": "function_call_output", "name": "goal_objective", "output": goal} for goal in ("count", "count again")
    ]
    assert read(user("go"), told[0], user(goes_on)).prompt == f"{goes_on}\ncount"
    assert read(told[0], user(goes_on), told[1], user("go"), user(goes_on)).prompt == f"{goes_on}\ncount again"
    assert read(told[0], user("go")).prompt == "go"
    assert read(user(goes_on)).prompt == goes_on


def test_the_session_is_that_of_the_thread_that_started_a_subagent() -> None:
    body = {"input": "go", "client_metadata": {"session_id": "root"}}
    assert read_request(msgspec.json.encode(body), {"thread-id": "t1"}).session == "root"


def test_the_step_after_the_last_answered_call_is_next() -> None:
    request = read(user("go"), output(1, 0, "a"), output(4, 0, "b"), output(4, 1, "c", "custom_tool_call_output"))
    assert (request.done, request.output) == (5, "b\nc")


def test_outputs_of_calls_that_are_not_ours_are_left_alone() -> None:
    request = read(
        user("go"), {"type": "function_call_output", "call_id": "call_x", "output": "a"}, {"type": "x_output"}
    )
    assert (request.done, request.output) == (0, "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ([{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "x"}, {"text": "b"}], "a\nb"),
        ({"content": "a"}, '{"content":"a"}'),
        (None, ""),
    ],
)
def test_an_output_may_be_a_text_or_a_list_of_parts_or_anything_else(value: object, text: str) -> None:
    assert read(user("go"), output(0, 0, value)).output == text


def test_the_input_may_be_a_mere_text_and_the_session_stands_for_the_thread() -> None:
    request = read_request(b'{"input": "hello"}', {"session-id": "s1"})
    assert (request.prompt, request.message, request.thread) == ("hello", 1, "s1")


@pytest.mark.parametrize("body", [b"", b"[]", b'{"input": 5}', b'{"input": [5]}', b"\xff", b'{"input": "\xff"}'])
def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(Refused, match="cannot read the request"):
        read_request(body, {})


@given(st.lists(st.text()), st.integers(0, 9), st.integers(0, 9))
def test_any_message_of_the_user_starts_the_scene_anew(texts: list[str], step: int, number: int) -> None:
    prompts = [text for text in texts if not text.startswith(CONTEXT_OPENINGS)]
    request = read(output(step, number, "x"), *(user(text) for text in texts))
    assert request.message == len(prompts)
    assert request.prompt == (prompts[-1] if prompts else "")
    assert request.done == (0 if prompts else step + 1)
