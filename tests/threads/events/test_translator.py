"""Whole turns: what the app-server says, and the events of 0.153.4 that come of it, in their order."""

from base64 import b64decode

import pytest

from codex_mcp.codex.core import Event
from codex_mcp.threads.events.translator import EventTranslator
from tests.support.core.app_events import (
    COMMAND_APPROVAL,
    FOLDER,
    LIMITS,
    NOW_MS,
    NOW_S,
    PATCH_APPROVAL,
    THREAD,
    TURN,
    Json,
    Talk,
    command,
    message,
    patch,
    prompt,
    ran,
    running,
    usage,
)

OPEN = ["session_configured", "mcp_startup_complete"]
ASK = ["task_started", "user_message"]
SAY = ["agent_message_content_delta", "agent_message", "token_count"]
END = ["task_complete"]


def begun(*, full: bool = False) -> Talk:
    """A new thread whose first turn has heard its prompt."""
    talk = Talk(full=full).opened().turn_started()
    return talk.started(prompt()).completed(prompt())


def spent(talk: Talk) -> Talk:
    return talk.in_turn("thread/tokenUsage/updated", tokenUsage=usage()).note(
        "account/rateLimits/updated", rateLimits=LIMITS
    )


def said(talk: Talk, text: str = "Done.") -> Talk:
    talk.started(message()).in_turn("item/agentMessage/delta", itemId="msg-1", delta=text)
    return spent(talk.completed(message(text)))


def test_a_simple_answer() -> None:
    talk = said(begun()).turn_completed()
    assert talk.types == [*OPEN, *ASK, *SAY, *END]
    assert [event.turn_id for event in talk.events] == ["", "", *[TURN] * 6]
    assert talk.events[-1] == Event(
        TURN,
        {
            "type": "task_complete",
            "turn_id": TURN,
            "last_agent_message": "Done.",
            "started_at": NOW_S,
            "completed_at": NOW_S + 2,
            "duration_ms": 2000,
        },
    )


def test_the_first_turn_does_not_know_the_context_window_and_the_second_does() -> None:
    talk = said(begun()).turn_completed().turn_started("turn-2")
    first, second = talk.of_type("task_started")
    assert first == {
        "type": "task_started",
        "turn_id": TURN,
        "started_at": NOW_S,
        "model_context_window": None,
        "collaboration_mode_kind": "default",
    }
    assert second == first | {"turn_id": "turn-2", "model_context_window": 258_400}


def test_a_reply_does_not_configure_the_session_again() -> None:
    talk = said(begun()).turn_completed()
    before = len(talk.events)
    said(talk.turn_started().started(prompt()).completed(prompt())).turn_completed()
    assert talk.types[before:] == [*ASK, *SAY, *END]


def test_reasoning_comes_in_sections_and_deltas_and_then_whole() -> None:
    thought: Json = {"type": "reasoning", "id": "rs-1", "summary": [], "content": []}
    talk = begun().started(thought).in_turn("item/reasoning/summaryPartAdded", itemId="rs-1", summaryIndex=0)
    talk.in_turn("item/reasoning/summaryTextDelta", itemId="rs-1", summaryIndex=0, delta="Look")
    said(talk.completed(thought | {"summary": ["Look"]})).turn_completed()
    reasoning = ["agent_reasoning_section_break", "reasoning_content_delta", "agent_reasoning"]
    assert talk.types == [*OPEN, *ASK, *reasoning, *SAY, *END]


def test_an_approved_command_begins_after_the_answer() -> None:
    talk = begun().started(command()).asks(COMMAND_APPROVAL, itemId="call-1")
    assert talk.types == [*OPEN, *ASK, "exec_approval_request"]
    talk.answer(COMMAND_APPROVAL, "call-1", approved=True)
    assert talk.types[-1] == "exec_command_begin"
    said(spent(talk.completed(ran()))).turn_completed()
    execution = ["exec_approval_request", "exec_command_begin", "exec_command_end", "token_count"]
    assert talk.types == [*OPEN, *ASK, *execution, *SAY, *END]


@pytest.mark.parametrize("status", ["declined", "failed"])
def test_a_command_that_was_not_allowed_neither_begins_nor_ends(status: str) -> None:
    talk = begun().started(command()).asks(COMMAND_APPROVAL, itemId="call-1")
    talk.answer(COMMAND_APPROVAL, "call-1", approved=False).completed(command(status=status))
    said(spent(talk)).turn_completed()
    assert talk.types == [*OPEN, *ASK, "exec_approval_request", "token_count", *SAY, *END]


def test_a_command_that_needs_no_answer_begins_at_once() -> None:
    talk = begun().started(running())
    assert talk.types == [*OPEN, *ASK, "exec_command_begin"]
    talk.in_turn("item/commandExecution/outputDelta", itemId="call-1", delta="ök\n").completed(ran())
    assert talk.types[-2:] == ["exec_command_output_delta", "exec_command_end"]
    delta = talk.only("exec_command_output_delta")
    assert (delta["stream"], b64decode(str(delta["chunk"]))) == ("stdout", "ök\n".encode())


def test_the_users_own_command_begins_at_once() -> None:
    assert begun().started(command(source="userShell")).types[-1] == "exec_command_begin"


@pytest.mark.parametrize("method", ["outputDelta", "terminalInteraction"])
def test_what_makes_output_has_begun_even_if_nobody_said_so(method: str) -> None:
    talk = begun().started(command())
    talk.in_turn(f"item/commandExecution/{method}", itemId="call-1", delta="x", processId="7", stdin="y\n")
    assert talk.types[-2] == "exec_command_begin"
    assert talk.completed(ran()).types.count("exec_command_begin") == 1


def test_a_command_that_was_allowed_elsewhere_begins_when_it_is_done() -> None:
    talk = begun().started(command()).asks(COMMAND_APPROVAL, itemId="call-1").completed(ran())
    assert talk.types[-2:] == ["exec_command_begin", "exec_command_end"]


def test_a_command_that_outlives_its_turn_ends_once_and_under_its_own_turn() -> None:
    talk = begun().started(running()).turn_completed("interrupted").turn_started("turn-2").completed(ran())
    assert talk.types.count("exec_command_begin") == 1
    assert talk.events[-1].turn_id == TURN
    assert talk.types[-3:] == ["turn_aborted", "task_started", "exec_command_end"]


def test_an_aborted_question_leaves_only_the_abort() -> None:
    talk = begun().started(command()).asks(COMMAND_APPROVAL, itemId="call-1")
    spent(talk.completed(command(status="declined"))).turn_completed("interrupted")
    assert talk.types == [*OPEN, *ASK, "exec_approval_request", "token_count", "turn_aborted"]
    assert talk.only("turn_aborted")["reason"] == "interrupted"
    assert talk.answer(COMMAND_APPROVAL, "call-1", approved=True).types[-1] == "turn_aborted"


def test_an_approved_patch_begins_after_the_answer() -> None:
    talk = begun().started(patch()).asks(PATCH_APPROVAL, itemId="call-2")
    talk.answer(PATCH_APPROVAL, "call-2", approved=True).completed(patch(status="completed"))
    for _ in range(3):
        talk.in_turn("turn/diff/updated", diff="diff --git a/new.txt b/new.txt\n")
    said(spent(talk)).turn_completed()
    patching = ["apply_patch_approval_request", "patch_apply_begin", "patch_apply_end", "turn_diff", "token_count"]
    assert talk.types == [*OPEN, *ASK, *patching, *SAY, *END]
    assert talk.only("patch_apply_begin")["auto_approved"] is False


def test_a_declined_patch_ends_without_a_begin() -> None:
    talk = begun().started(patch()).asks(PATCH_APPROVAL, itemId="call-2")
    talk.answer(PATCH_APPROVAL, "call-2", approved=False).completed(patch(status="declined"))
    assert talk.types == [*OPEN, *ASK, "apply_patch_approval_request", "patch_apply_end"]
    end = talk.only("patch_apply_end")
    assert (end["success"], end["status"]) == (False, "declined")


def test_a_patch_whose_question_failed_ends_without_a_begin() -> None:
    talk = begun().started(patch()).asks(PATCH_APPROVAL, itemId="call-2").completed(patch(status="failed"))
    assert talk.types[-2:] == ["apply_patch_approval_request", "patch_apply_end"]


def test_a_patch_that_nobody_was_asked_for_approves_itself() -> None:
    talk = begun().started(patch()).completed(patch(status="completed"))
    assert talk.types[-2:] == ["patch_apply_begin", "patch_apply_end"]
    assert talk.only("patch_apply_begin")["auto_approved"] is True


def test_the_patch_of_a_question_is_known_until_it_is_applied() -> None:
    talk = begun().started(patch())
    expected = {
        f"{FOLDER}/new.txt": {"type": "add", "content": "one\n"},
        f"{FOLDER}/page.txt": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": None},
    }
    assert talk.translator.changes_of("call-2") == expected
    assert talk.asks(PATCH_APPROVAL, itemId="call-2").only("apply_patch_approval_request")["changes"] == expected
    talk.answer(PATCH_APPROVAL, "call-2", approved=True)
    assert talk.translator.changes_of("call-2") == expected
    talk.completed(patch(status="completed"))
    assert talk.translator.changes_of("call-2") is None


def test_a_patch_that_grows_is_asked_for_as_it_is_now() -> None:
    grown: list[Json] = [{"path": "/a", "kind": {"type": "delete"}, "diff": "gone\n"}]
    talk = begun().started(patch()).in_turn("item/fileChange/patchUpdated", itemId="call-2", changes=grown)
    assert talk.only("patch_apply_updated")["changes"] == {"/a": {"type": "delete", "content": "gone\n"}}
    assert talk.translator.changes_of("call-2") == {"/a": {"type": "delete", "content": "gone\n"}}
    assert begun().started(command()).translator.changes_of("call-1") is None


def test_a_new_turn_knows_nothing_of_one_that_never_ended() -> None:
    talk = begun().started(patch()).asks(PATCH_APPROVAL, itemId="call-2").turn_started("turn-2")
    assert talk.translator.changes_of("call-2") is None


def test_a_plan() -> None:
    plan = [{"step": "look", "status": "completed"}, {"step": "act", "status": "inProgress"}]
    talk = begun().in_turn("turn/plan/updated", explanation=None, plan=plan)
    assert talk.only("plan_update")["plan"] == [
        {"step": "look", "status": "completed"},
        {"step": "act", "status": "in_progress"},
    ]


def test_a_new_diff_is_sent_and_the_next_turn_starts_afresh() -> None:
    talk = begun().in_turn("turn/diff/updated", diff="a").in_turn("turn/diff/updated", diff="a")
    talk.in_turn("turn/diff/updated", diff="b").turn_completed().turn_started().in_turn("turn/diff/updated", diff="b")
    assert [msg["unified_diff"] for msg in talk.of_type("turn_diff")] == ["a", "b", "b"]


def test_a_retry_is_a_stream_error_and_the_last_failure_an_error() -> None:
    lost: Json = {"message": "Reconnecting... 1/2", "codexErrorInfo": "other", "additionalDetails": "cut off"}
    gone: Json = {"message": "no answer", "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 502}}}
    talk = begun().in_turn("error", error=lost, willRetry=True).in_turn("error", error=gone, willRetry=False)
    talk.turn_completed("failed", error=gone)
    assert talk.types == [*OPEN, *ASK, "stream_error", "error", "task_complete"]
    assert talk.only("stream_error")["additional_details"] == "cut off"
    info = {"http_connection_failed": {"http_status_code": 502}}
    assert talk.only("task_complete")["error"] == {"message": "no answer", "codex_error_info": info}
    assert talk.only("task_complete")["last_agent_message"] is None


def test_compaction_is_told_when_it_is_done() -> None:
    item: Json = {"type": "contextCompaction", "id": "c-1"}
    assert begun().started(item).completed(item).types[-1:] == ["context_compacted"]


def test_a_token_count_waits_for_the_rate_limits() -> None:
    talk = begun().in_turn("thread/tokenUsage/updated", tokenUsage=usage())
    assert "token_count" not in talk.types
    talk.note("account/rateLimits/updated", rateLimits=LIMITS)
    assert talk.types[-1] == "token_count"
    window = {"used_percent": 12, "window_minutes": 300, "resets_at": NOW_S + 60}
    limits = {"limit_id": "codex", "limit_name": None, "primary": window, "plan_type": "pro"}
    assert talk.only("token_count")["rate_limits"] == limits


def test_a_token_count_does_not_wait_longer_than_for_the_next_event() -> None:
    talk = begun().in_turn("thread/tokenUsage/updated", tokenUsage=usage(30))
    talk.in_turn("thread/tokenUsage/updated", tokenUsage=usage(60)).turn_completed()
    assert talk.types == [*OPEN, *ASK, "token_count", "token_count", "task_complete"]
    assert [msg["rate_limits"] for msg in talk.of_type("token_count")] == [None, None]


def test_rate_limits_alone_are_no_event() -> None:
    assert begun().note("account/rateLimits/updated", rateLimits=LIMITS).types == [*OPEN, *ASK]


def test_mcp_servers_may_start_while_the_turn_does() -> None:
    talk = Talk().opened().note("thread/started", thread={"id": THREAD})
    talk.note("mcpServer/startupStatus/updated", name="wiki", status="starting", error=None).turn_started()
    talk.note("mcpServer/startupStatus/updated", name="wiki", status="ready", error=None)
    updates = ["mcp_startup_update", "task_started", "mcp_startup_update", "mcp_startup_complete"]
    assert talk.types == ["session_configured", *updates]
    assert [event.turn_id for event in talk.events] == ["", "", TURN, "", ""]


def test_the_mode_of_a_turn_is_the_threads() -> None:
    talk = Talk().opened(collaborationMode={"mode": "plan", "settings": {}}).turn_started().turn_completed()
    talk.note("thread/settings/updated", threadSettings={"collaborationMode": {"mode": "default"}}).turn_started()
    assert [msg["collaboration_mode_kind"] for msg in talk.of_type("task_started")] == ["plan", "default"]


def test_a_warning_belongs_to_the_turn_that_runs() -> None:
    talk = Talk().opened().note("warning", message="early").turn_started().note("warning", message="late")
    assert [event.turn_id for event in talk.events if event.msg["type"] == "warning"] == ["", TURN]


def test_items_and_raw_responses_are_told_only_on_request() -> None:
    for full in (False, True):
        talk = begun(full=full).in_turn("rawResponseItem/completed", item={"type": "message", "camelCase": 1})
        talk.in_turn("rawResponse/completed", responseId="r-1", usage=None, usageMetadata=None)
        talk.started(command()).answer(COMMAND_APPROVAL, "call-1", approved=True).completed(ran())
        raw_types = ["raw_response_item", "raw_response_completed"]
        execution = ["item_started", "exec_command_begin", "item_completed", "exec_command_end"]
        user = ["item_started", "item_completed", "user_message"]
        if full:
            assert talk.types == [*OPEN, "task_started", *user, *raw_types, *execution]
            assert talk.only("raw_response_item")["item"] == {"type": "message", "camelCase": 1}
        else:
            assert talk.types == [*OPEN, *ASK, "exec_command_begin", "exec_command_end"]


def test_a_tool_of_ours_is_called_and_answered() -> None:
    call: Json = {"type": "dynamicToolCall", "id": "call-3", "tool": "weather", "arguments": {"city": "Oslo"}}
    talk = begun().started(call).asks("item/tool/call", callId="call-3", tool="weather", arguments={"city": "Oslo"})
    talk.completed(call | {"success": True, "contentItems": [], "durationMs": 5})
    assert talk.types[-2:] == ["dynamic_tool_call_request", "dynamic_tool_call_response"]
    assert talk.only("dynamic_tool_call_request")["startedAtMs"] == NOW_MS


def test_an_elicitation_belongs_to_its_turn_or_to_the_one_that_runs() -> None:
    talk = begun().asks("mcpServer/elicitation/request", serverName="wiki", mode="form", message="Which page?")
    talk.asks("mcpServer/elicitation/request", serverName="wiki", mode="form", message="And now?", turnId=None)
    assert [event.turn_id for event in talk.events[-2:]] == [TURN, TURN]


def test_what_is_unknown_or_unreadable_gives_no_event() -> None:
    talk = begun()
    before = list(talk.events)
    talk.note("thread/name/updated", threadName="x").note("item/started", item={"type": "hologram", "id": "h"})
    talk.asks("account/chatgptAuthTokens/refresh").asks(COMMAND_APPROVAL)
    assert talk.translator.thread_opened(None) == []
    talk.answer("item/tool/call", "call-1", approved=True)
    assert talk.events == before


def test_the_events_of_an_old_codex_pass_as_they_are() -> None:
    msg: Json = {"type": "session_configured", "session_id": "s", "of_another_time": [1, None]}
    for full in (False, True):
        translator = EventTranslator(THREAD, full=full)
        told = [Event("", msg), *(Event(TURN, {"type": kind}) for kind in ("item_started", "raw_response_item"))]
        events = [event for each in told for event in translator.told(each)]
        assert events == (told if full else told[:1])
