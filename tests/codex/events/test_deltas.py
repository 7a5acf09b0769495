"""One notification, one event."""

from codex_mcp.codex.events import deltas
from codex_mcp.wire.app.items import Failure
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

IDS = {"thread_id": "thread-1", "turn_id": "turn-1", "item_id": "msg-1"}
DELTA = Delta(turn_id="turn-1", thread_id="thread-1", item_id="msg-1", delta="hi")


def test_deltas_say_where_they_belong() -> None:
    said = {**IDS, "delta": "hi"}
    assert deltas.message_delta(DELTA) == {"type": "agent_message_content_delta", **said}
    assert deltas.plan_delta(DELTA) == {"type": "plan_delta", **said}
    summary = SummaryDelta("turn-1", "msg-1", "hi", 2, thread_id="thread-1")
    assert deltas.summary_delta(summary) == {"type": "reasoning_content_delta", **said, "summary_index": 2}
    content = ReasoningDelta("turn-1", "msg-1", "hi", 3, thread_id="thread-1")
    assert deltas.reasoning_delta(content) == {"type": "reasoning_raw_content_delta", **said, "content_index": 3}


def test_a_new_section_of_thoughts() -> None:
    assert deltas.section_break(SummaryPartAdded("turn-1", "rs-1", 1)) == {
        "type": "agent_reasoning_section_break",
        "item_id": "rs-1",
        "summary_index": 1,
    }


def test_output_is_bytes_in_base64() -> None:
    assert deltas.output_delta(DELTA) == {
        "type": "exec_command_output_delta",
        "call_id": "msg-1",
        "stream": "stdout",
        "chunk": "aGk=",
    }


def test_what_was_typed_into_a_terminal() -> None:
    assert deltas.terminal_input(TerminalInput("turn-1", "call-1", "4242", "y\n")) == {
        "type": "terminal_interaction",
        "call_id": "call-1",
        "process_id": "4242",
        "stdin": "y\n",
    }


def test_a_plan_names_its_states_in_snake_case() -> None:
    assert deltas.plan_update(PlanUpdated("turn-1", [PlanStep("act", "inProgress")], "why")) == {
        "type": "plan_update",
        "explanation": "why",
        "plan": [{"step": "act", "status": "in_progress"}],
    }


def test_an_error_is_final_or_a_retry() -> None:
    failure = Failure("gone", "serverOverloaded", "busy")
    error = {"type": "error", "message": "gone", "codex_error_info": "server_overloaded"}
    assert deltas.error_event(ErrorReported("turn-1", failure)) == error
    retry = error | {"type": "stream_error", "additional_details": "busy"}
    assert deltas.error_event(ErrorReported("turn-1", failure, will_retry=True)) == retry
