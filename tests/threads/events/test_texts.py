"""What was said and thought, whole and piece by piece."""

from codex_mcp.threads.events import texts
from codex_mcp.threads.events.texts import agent_message, agent_reasoning, input_part, user_message
from codex_mcp.wire.app.items import AgentMessage, Failure, Input, Reasoning, UserMessage
from codex_mcp.wire.app.notifications import (
    Delta,
    ErrorReported,
    PlanStep,
    PlanUpdated,
    ReasoningDelta,
    SummaryDelta,
    SummaryPartAdded,
    TerminalInput,
)


def span(start: int, end: int) -> dict[str, object]:
    return {"byteRange": {"start": start, "end": end}, "placeholder": None}


def test_a_prompt_of_many_parts_is_one_text_and_lists() -> None:
    parts = [
        Input("text", "Sieh "),
        Input("image", url="https://example.org/i.png"),
        Input("localImage", path="/x/i.png"),
        Input("text", "hin."),
        Input("audio", url="data:audio/wav;base64,AA=="),
        Input("localAudio", path="/x/a.wav"),
        Input("skill", path="/x/SKILL.md"),
    ]
    assert user_message(UserMessage("user-1", content=parts)) == {
        "type": "user_message",
        "message": "Sieh hin.",
        "images": ["https://example.org/i.png"],
        "local_images": ["/x/i.png"],
        "audio": ["data:audio/wav;base64,AA=="],
        "local_audio": ["/x/a.wav"],
        "text_elements": [],
    }


def test_marked_spans_move_with_the_bytes_of_the_text_before_them() -> None:
    parts = [Input("text", "ä", text_elements=[span(0, 2)]), Input("text", "b", text_elements=[span(0, 1), "odd"])]
    assert user_message(UserMessage("user-1", content=parts))["text_elements"] == [
        {"byte_range": {"start": 0, "end": 2}, "placeholder": None},
        {"byte_range": {"start": 2, "end": 3}, "placeholder": None},
        "odd",
    ]


def test_parts_of_a_prompt_keep_their_own_fields() -> None:
    assert input_part(Input("text", "hi")) == {"type": "text", "text": "hi", "text_elements": []}
    assert input_part(Input("localImage", path="/x")) == {"type": "local_image", "path": "/x"}


def test_an_answer_says_its_phase_and_what_it_remembered() -> None:
    item = AgentMessage("msg-1", text="Hi", phase="commentary", memory_citation={"threadIds": ["t"]})
    assert agent_message(item) == {
        "type": "agent_message",
        "message": "Hi",
        "phase": "commentary",
        "memory_citation": {"thread_ids": ["t"]},
    }


def test_every_thought_is_an_event() -> None:
    assert agent_reasoning(Reasoning("rs-1", summary=["a", "b"], content=["raw"])) == [
        {"type": "agent_reasoning", "text": "a"},
        {"type": "agent_reasoning", "text": "b"},
        {"type": "agent_reasoning_raw_content", "text": "raw"},
    ]


IDS = {"thread_id": "thread-1", "turn_id": "turn-1", "item_id": "msg-1"}
DELTA = Delta(turn_id="turn-1", thread_id="thread-1", item_id="msg-1", delta="hi")


def test_deltas_say_where_they_belong() -> None:
    said = {**IDS, "delta": "hi"}
    assert texts.delta("agent_message_content_delta", DELTA) == {"type": "agent_message_content_delta", **said}
    summary = SummaryDelta("turn-1", "msg-1", "hi", 2, thread_id="thread-1")
    assert texts.summary_delta(summary) == {"type": "reasoning_content_delta", **said, "summary_index": 2}
    content = ReasoningDelta("turn-1", "msg-1", "hi", 3, thread_id="thread-1")
    assert texts.reasoning_delta(content) == {"type": "reasoning_raw_content_delta", **said, "content_index": 3}


def test_a_new_section_of_thoughts() -> None:
    assert texts.section_break(SummaryPartAdded("turn-1", "rs-1", 1)) == {
        "type": "agent_reasoning_section_break",
        "item_id": "rs-1",
        "summary_index": 1,
    }


def test_output_is_bytes_in_base64() -> None:
    assert texts.output_delta(DELTA) == {
        "type": "exec_command_output_delta",
        "call_id": "msg-1",
        "stream": "stdout",
        "chunk": "aGk=",
    }


def test_what_was_typed_into_a_terminal() -> None:
    assert texts.terminal_input(TerminalInput("turn-1", "call-1", "4242", "y\n")) == {
        "type": "terminal_interaction",
        "call_id": "call-1",
        "process_id": "4242",
        "stdin": "y\n",
    }


def test_a_plan_names_its_states_in_snake_case() -> None:
    assert texts.plan_update(PlanUpdated("turn-1", [PlanStep("act", "inProgress")], "why")) == {
        "type": "plan_update",
        "explanation": "why",
        "plan": [{"step": "act", "status": "in_progress"}],
    }


def test_an_error_is_final_or_a_retry() -> None:
    failure = Failure("gone", "serverOverloaded", "busy")
    error = {"type": "error", "message": "gone", "codex_error_info": "server_overloaded"}
    assert texts.error_event(ErrorReported("turn-1", failure)) == error
    retry = error | {"type": "stream_error", "additional_details": "busy"}
    assert texts.error_event(ErrorReported("turn-1", failure, will_retry=True)) == retry
