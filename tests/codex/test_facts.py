"""What the core's notifications mean for a turn."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.facts import (
    ACTIVITIES,
    CommandStarted,
    ErrorReported,
    Fact,
    FileChange,
    FilesChanged,
    ItemEnded,
    MessageSaid,
    MessageStreamed,
    QuestionWithdrawn,
    ThreadUnloaded,
    Tokens,
    TokensCounted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    fact_of,
)
from codex_mcp.codex.reading import read_notification
from codex_mcp.wire.app.notifications import DESCRIBED

Json = dict[str, object]

CHANGES = [{"path": "/x/a", "kind": {"type": "add"}, "diff": "+a"}, {"path": "/x/b", "kind": {}}]


def fact(method: str, params: object) -> Fact | None:
    note = read_notification(method, msgspec.Raw(msgspec.json.encode(params)))
    return None if note is None else fact_of(note)


def item(**fields: object) -> Json:
    return {"threadId": "t", "turnId": "u", "item": {"id": "i", **fields}}


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("turn/started", {"threadId": "t", "turn": {"id": "u", "status": "inProgress"}}, TurnStarted("u")),
        (
            "turn/completed",
            {"turn": {"id": "u", "status": "completed", "error": None}},
            TurnEnded("u", "completed", None),
        ),
        (
            "turn/completed",
            {"turn": {"id": "u", "status": "failed", "error": {"message": "no quota"}}},
            TurnEnded("u", "failed", "no quota"),
        ),
        (
            "item/started",
            item(type="commandExecution", command="ls", processId="7"),
            CommandStarted("u", "i", "ls", "7"),
        ),
        ("item/started", item(type="commandExecution", command="ls"), CommandStarted("u", "i", "ls", None)),
        ("item/started", item(type="fileChange", changes=CHANGES), ToolStarted("u", "i", "patching /x/a, /x/b")),
        ("item/started", item(type="reasoning"), ToolStarted("u", "i", "thinking")),
        (
            "item/started",
            item(type="mcpToolCall", server="weather", tool="forecast"),
            ToolStarted("u", "i", "calling a tool weather.forecast"),
        ),
        ("item/started", item(type="dynamicToolCall", tool="mail"), ToolStarted("u", "i", "calling a tool mail")),
        ("item/started", item(type="userMessage"), None),
        ("item/started", item(type="hologram"), None),
        ("item/completed", item(type="hologram"), ItemEnded("u", "i")),
        (
            "item/started",
            item(type="commandExecution", command="ls", exitCode="unreadable"),
            CommandStarted("u", "i", "ls", None),
        ),
        ("item/completed", item(type="agentMessage", text="Done.", phase=7), MessageSaid("u", "Done.")),
        ("item/completed", item(type="agentMessage", text="Done."), MessageSaid("u", "Done.")),
        (
            "item/completed",
            item(type="fileChange", status="completed", changes=CHANGES),
            FilesChanged("u", "i", (FileChange("/x/a", "add", 1, 0), FileChange("/x/b", "update", 0, 0))),
        ),
        ("item/completed", item(type="fileChange", status="declined", changes=CHANGES), ItemEnded("u", "i")),
        ("item/completed", item(type="commandExecution", status="completed"), ItemEnded("u", "i")),
        (
            "thread/tokenUsage/updated",
            {"turnId": "u", "tokenUsage": {"total": {"totalTokens": 9}, "last": {"inputTokens": 3, "totalTokens": 4}}},
            TokensCounted("u", Tokens(total_tokens=9), Tokens(input_tokens=3, total_tokens=4)),
        ),
        (
            "error",
            {"turnId": "u", "willRetry": True, "error": {"message": "Reconnecting... 1/5"}},
            ErrorReported("u", "Reconnecting... 1/5", will_retry=True),
        ),
        ("serverRequest/resolved", {"threadId": "t", "requestId": 0}, QuestionWithdrawn(0)),
        ("thread/closed", {"threadId": "t"}, ThreadUnloaded()),
        ("item/agentMessage/delta", {"turnId": "u", "itemId": "i", "delta": "Do"}, MessageStreamed("u", "i", "Do")),
        (
            "error",
            {"turnId": "u", "willRetry": True, "error": {"message": "Reconnecting", "additionalDetails": "refused"}},
            ErrorReported("u", "Reconnecting", will_retry=True, details="refused"),
        ),
        ("something/new", {}, None),
    ],
)
def test_a_notification_says_what_it_means(method: str, params: Json, expected: Fact | None) -> None:
    assert fact(method, params) == expected


@pytest.mark.parametrize("kind", ACTIVITIES)
def test_every_activity_has_words(kind: str) -> None:
    assert fact("item/started", item(type=kind)) == ToolStarted("u", "i", ACTIVITIES[kind])


ANYTHING: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["turn", "item", "id", "type", "turnId", "error", "changes", "requestId", "tokenUsage"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(st.sampled_from(sorted(DESCRIBED)), ANYTHING)
def test_what_cannot_be_read_is_no_fact_and_no_error(method: str, params: object) -> None:
    fact(method, params)
