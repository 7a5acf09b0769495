"""Steps from the lines of a rollout file."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.thread.kept import Kept, item_of, kept_steps
from codex_mcp.wire.control_thread import ListSteps

ASKED = ListSteps(thread="x")


def line(kind: str, **payload: Any) -> bytes:
    return json.dumps({"type": kind, "payload": payload}, separators=(",", ":")).encode()


def item(kind: str, turn: str = "t", **fields: Any) -> bytes:
    return line("event_msg", type="item_completed", turn_id=turn, item={"type": kind, "id": kind, **fields})


LINES = [
    line("session_meta", id="x"),
    line("event_msg", type="task_started", turn_id="t", started_at=5),
    line("turn_context", turn_id="t", model="m", approval_policy="never", sandbox_policy={"type": "read-only"}),
    item("UserMessage", content=[{"type": "text", "text": "Do it"}]),
    item("Reasoning", summary_text=["Hm"], raw_content=[]),
    item(
        "CommandExecution",
        command=["/bin/bash", "-lc", "cat a"],
        parsed_cmd=[{"type": "read", "cmd": "cat a", "name": "a", "path": "a"}],
        aggregated_output="one\n",
        exit_code=0,
        status="completed",
        duration={"secs": 1, "nanos": 500_000_000},
    ),
    item("FileChange", changes={"/a": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n"}}, status="completed"),
    item("ImageView", path="file:///a.png"),
    item("DynamicToolCall", tool="atm_send", arguments={"to": "b"}, content_items=[{"text": "ok"}], success=True),
    item("ExitedReviewMode", review_output={"overall_explanation": "Fine"}),
    item("FromTheFuture", what=1),
    line(
        "response_item",
        type="function_call",
        name="update_plan",
        arguments='{"plan":[{"step":"Look","status":"in_progress"}]}',
    ),
    line(
        "event_msg",
        type="token_count",
        info={
            "total_token_usage": {"input_tokens": 9, "cached_input_tokens": 3, "output_tokens": 1, "total_tokens": 10},
            "last_token_usage": {"total_tokens": 4},
            "model_context_window": 100,
        },
    ),
    item("AgentMessage", content=[{"type": "Text", "text": "Done"}]),
    line("event_msg", type="task_complete", turn_id="t", duration_ms=2000),
    line("event_msg", type="task_started", turn_id="u", started_at=9),
    b'{"type":"event_msg","payload":{"type":"item_completed","turn_id":"u","it',
]


def test_a_rollout_file_gives_the_same_kinds_of_steps() -> None:
    known = kept_steps(LINES, ListSteps(thread="x", turn="t"), 400)
    assert [(turn.status, turn.asked, turn.by, turn.steps, turn.seconds) for turn in known.turns] == [
        ("completed", "Do it", "", 8, 2.0),
        ("interrupted", "", "codex", 0, None),
    ]
    assert [(step.kind, step.text) for step in known.steps] == [
        ("user", "Do it"),
        ("thinks", "Hm"),
        ("ran", "cat a"),
        ("changed", ""),
        ("image", "/a.png"),
        ("tool", '{"to":"b"}'),
        ("review", "Fine"),
        ("says", "Done"),
    ]
    ran = known.steps[2]
    assert (ran.output, ran.exit_code, ran.seconds, ran.looks[0].what) == ("one\n", 0, 1.5, "a")
    assert (known.steps[3].files[0].path, known.steps[3].files[0].added) == ("/a", 1)
    assert (known.setup.model, known.setup.sandbox, known.setup.approval) == ("m", "read-only", "never")
    assert [(each.step, each.status) for each in known.plan.steps] == [("Look", "inProgress")]
    assert known.usage is not None
    assert (known.usage.total, known.usage.context, known.usage.window) == (10, 4, 100)


def test_a_part_of_a_turn_and_the_newest_turn_can_be_asked_for() -> None:
    part = kept_steps(LINES, ListSteps(thread="x", turn="t", before=3, limit=2), 400)
    assert ([step.n for step in part.steps], part.first, part.total) == ([1, 2], 1, 8)
    assert kept_steps(LINES, ASKED, 400).turn == "u"
    assert kept_steps([], ASKED, 400).turns == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_line_breaks_it(payload: Any) -> None:
    kept = Kept()
    for kind in ("event_msg", "turn_context", "session_meta", "response_item"):
        for name in ("item_completed", "task_started", "token_count", "update_plan", "task_complete"):
            fields = (
                {**payload, "type": name}
                if isinstance(payload, dict)
                else {"type": name, "item": payload, "info": payload}
            )
            kept.read(json.dumps({"type": kind, "payload": {"turn_id": "t", **fields}}, separators=(",", ":")).encode())
    kept.steps(ASKED, 10)


def test_an_unknown_item_is_none_or_refused() -> None:
    for spelled in ({"type": "AgentMessage", "id": "a", "content": [{"text": "x"}]}, {"type": "WebSearch", "id": "b"}):
        assert item_of(spelled) is not None
