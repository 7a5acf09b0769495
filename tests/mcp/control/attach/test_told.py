"""What a TUI is still told after it was given the conversation so far."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.mcp.control.attach.told import (
    Typed,
    begun_turn,
    patch_in,
    seen_in,
    still_to_tell,
    with_message_id,
)
from codex_mcp.wire.jsonrpc import Notification

TURNS = [
    {"id": "one", "status": "completed", "items": [{"id": "a", "type": "userMessage"}, {"id": "b"}]},
    {"id": "two", "status": "inProgress", "items": [{"id": "c"}]},
]


def note(method: str, **params: object) -> Notification:
    return Notification(method, Raw(msgspec.json.encode(params)))


def conversation(turns: object = TURNS) -> Raw:
    return Raw(msgspec.json.encode({"id": "t", "turns": turns}))


def test_what_the_conversation_has_is_not_told_again() -> None:
    told = still_to_tell(
        [
            note("turn/started", turn={"id": "two"}),
            note("turn/completed", turn={"id": "one", "status": "completed"}),
            note("item/started", item={"id": "c"}),
            note("item/completed", item={"id": "c", "type": "agentMessage"}),
            note("item/agentMessage/delta", itemId="c", delta="x"),
            note("item/agentMessage/delta", itemId="d", delta="y"),
            note("item/completed", item={"id": "d"}),
            note("turn/completed", turn={"id": "two", "status": "completed"}),
            note("turn/started", turn={"id": "three"}),
            note("thread/tokenUsage/updated", tokenUsage={}),
        ],
        seen_in(conversation()),
    )
    assert [message.method for message in told] == [
        "item/agentMessage/delta",
        "item/completed",
        "turn/completed",
        "turn/started",
        "thread/tokenUsage/updated",
    ]


ITEMS = st.lists(st.integers(0, 12), max_size=12)


@given(st.lists(st.integers(0, 9), unique=True), st.lists(st.integers(0, 9)))
def test_each_item_is_either_in_the_conversation_or_told(had: list[int], came: list[int]) -> None:
    turns = [{"id": "u", "status": "inProgress", "items": [{"id": str(each)} for each in had]}]
    messages = [note("item/completed", item={"id": str(each)}) for each in came]
    told = still_to_tell(messages, seen_in(conversation(turns)))
    assert [msgspec.json.decode(each.params)["item"]["id"] for each in told] == [
        str(each) for each in came if each not in had
    ]


def test_a_conversation_that_cannot_be_read_hides_nothing() -> None:
    seen = seen_in(Raw(b'{"turns": 5}'))
    messages = [note("turn/started", turn={"id": "one"}), note("item/completed", item=7)]
    assert still_to_tell(messages, seen) == messages


def test_a_turn_is_as_codex_describes_it() -> None:
    turn_id, turn = begun_turn(note("turn/started", turn={"id": "u", "status": "inProgress", "more": 1}))
    assert (turn_id, msgspec.json.decode(turn)["more"]) == ("u", 1)


def test_a_patch_is_known_by_its_item() -> None:
    assert patch_in(note("item/started", item={"id": "p", "type": "fileChange"})) == "p"
    assert patch_in(note("item/started", item={"id": "p", "type": "commandExecution"})) == ""
    assert patch_in(note("item/started", item=[])) == ""


def message(client_id: str | None, *texts: str, kind: str = "userMessage") -> Raw:
    content = [{"type": "text", "text": text} for text in texts]
    return Raw(msgspec.json.encode({"item": {"type": kind, "clientId": client_id, "content": content}, "turnId": "u"}))


def test_a_prompt_has_the_id_that_its_tui_waits_for() -> None:
    ours = Typed("tui-1", "our-name", ("hello",))
    other = Typed("tui-2", "other-name", ("hello", "again"))
    for raw in (message("our-name", "hello"), message(None, "preface", "hello")):
        params, found = with_message_id(raw, [other, ours])
        assert isinstance(params, dict)
        assert (params["item"]["clientId"], params["turnId"], found) == ("tui-1", "u", ours)
    for raw in (
        message("somebody", "hello"),
        message(None, "hell"),
        message("our-name", kind="agentMessage"),
        Raw(b'{"item": 1}'),
        Raw(b'{"item": {"type": "userMessage", "content": 5}}'),
    ):
        assert with_message_id(raw, [other, ours]) == (raw, None)
