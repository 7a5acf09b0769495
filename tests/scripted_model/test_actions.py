"""A response becomes bytes and pauses, in order."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.scripted_model.actions import (
    LARGE_WRITE,
    Abort,
    Action,
    Hold,
    HoldForever,
    Pause,
    Refuse,
    Send,
    actions,
    in_large_writes,
    pieces,
)
from codex_mcp.scripted_model.playing import DEFAULT_USAGE, Beat, Response
from codex_mcp.scripted_model.request import ModelRequest
from codex_mcp.scripted_model.steps import Disconnect, Error, Fail, Gate, Run, Say, Search, Step, Stream, Think, Wait

REQUEST = ModelRequest("t", "m", "", "", message=1, done=0, output="", tools={})

Event = dict[str, object]


def acted(*steps: Step) -> list[Action]:
    beats = tuple(Beat(index, step) for index, step in enumerate(steps))
    return list(actions(Response("x", beats, DEFAULT_USAGE), REQUEST, "ab"))


def events(todo: list[Action]) -> list[Event]:
    stream = b"".join(action.data for action in todo if isinstance(action, Send))
    found = []
    for block in stream.split(b"\n\n")[:-1]:
        first, second = block.split(b"\n")
        data: Event = msgspec.json.decode(second.removeprefix(b"data: "))
        assert first.decode() == f"event: {data['type']}"
        found.append(data)
    return found


def kinds(todo: list[Action]) -> list[str]:
    return [str(event["type"]).removeprefix("response.") for event in events(todo)]


def text_of(todo: list[Action]) -> str:
    return "".join(str(event["delta"]) for event in events(todo) if event["type"] == "response.output_text.delta")


def test_a_text_is_announced_streamed_completed_and_paid() -> None:
    todo = acted(Say(say="Hello", deltas=2, phase="final_answer"))
    item = {"type": "message", "id": "msg_ab_0", "role": "assistant", "phase": "final_answer"}
    place = {"item_id": "msg_ab_0", "output_index": 0, "content_index": 0}
    content = [{"type": "output_text", "text": "Hello", "annotations": []}]
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 120,
    }
    assert events(todo) == [
        {"type": "response.created", "response": {"id": "resp_ab"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", **place, "delta": "He"},
        {"type": "response.output_text.delta", **place, "delta": "llo"},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": content}},
        {"type": "response.completed", "response": {"id": "resp_ab", "usage": usage}},
    ]


def test_a_search_is_announced_and_then_told_with_its_query() -> None:
    item = {"type": "web_search_call", "id": "ws_ab_0"}
    done = {**item, "status": "completed", "action": {"type": "search", "query": "weather"}}
    assert events(acted(Search(search="weather")))[1:3] == [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
    ]


def test_thoughts_come_in_sections_and_calls_come_whole() -> None:
    todo = acted(Think(think=["One", "Two"]), Run(run=["a", "b"]))
    assert kinds(todo) == [
        "created",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "output_item.done",
        "output_item.done",
        "output_item.done",
        "completed",
    ]
    [thought, *_] = [event["item"] for event in events(todo) if event["type"] == "response.output_item.done"]
    summary = [{"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}]
    assert thought == {"type": "reasoning", "id": "rs_ab_0", "summary": summary, "encrypted_content": None}


def test_a_stream_repeats_its_piece_with_pauses_between() -> None:
    todo = acted(Stream(stream="a ", count=3, interval=0.5))
    assert text_of(todo) == "a a a "
    assert [action for action in todo if isinstance(action, Pause)] == [Pause(0.5)] * 3


def test_five_thousand_pieces_are_five_thousand_events_in_a_few_large_pieces() -> None:
    todo = acted(Stream(stream="w ", count=5000))
    assert kinds(todo).count("output_text.delta") == 5000
    assert len(list(in_large_writes(todo))) < 20


def test_an_endless_stream_goes_on_and_pauses_even_if_it_names_no_interval() -> None:
    response = Response("x", (Beat(0, Stream(stream="a", endless=True)),), DEFAULT_USAGE)
    endless = actions(response, REQUEST, "ab")
    todo = [next(endless) for _ in range(1000)]
    assert isinstance(todo[-2], Pause | Send)
    assert sum(isinstance(action, Pause) for action in todo) > 400


@pytest.mark.parametrize(
    ("step", "action"),
    [
        (Wait(wait=2.0), Pause(2.0)),
        (Wait(wait="disconnect"), HoldForever()),
        (Gate(gate="g", file="f"), Hold("g", "f")),
    ],
)
def test_a_silent_step_comes_between_the_events_around_it(step: Step, action: Action) -> None:
    todo = acted(Say(say="a"), step, Say(say="b"))
    place = todo.index(action)
    assert text_of(todo[:place]) == "a"
    assert text_of(todo[place:]) == "b"


def test_a_failure_with_a_status_sends_nothing_else() -> None:
    body = b'{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}'
    assert acted(Wait(wait=1.0), Fail(fail=401, message="no")) == [Pause(1.0), Refuse(401, {}, body)]
    [refused] = acted(Fail(fail=503, body="busy", headers={"retry-after": "1"}))
    assert refused == Refuse(503, {"retry-after": "1"}, b"busy")


def test_a_failed_response_ends_with_its_error() -> None:
    *_, last = events(acted(Say(say="a"), Error(error="context_length_exceeded", message="too long")))
    error = {"code": "context_length_exceeded", "message": "too long"}
    assert last == {"type": "response.failed", "response": {"id": "resp_ab", "error": error}}


def test_a_broken_connection_leaves_half_a_message() -> None:
    todo = acted(Disconnect(disconnect="And th"))
    assert todo[-1] == Abort()
    assert kinds(todo) == ["created", "output_item.added", "output_text.delta"]


@given(st.text(), st.integers(1, 50))
def test_pieces_make_up_the_text_again(text: str, number: int) -> None:
    cut = pieces(text, number)
    assert "".join(cut) == text
    assert len(cut) == min(number, len(text))
    assert all(cut)


@given(st.lists(st.one_of(st.builds(Send, st.binary(max_size=LARGE_WRITE * 2)), st.just(Pause(1.0)))))
def test_joining_changes_no_byte_and_no_order(todo: list[Action]) -> None:
    def flat(some: list[Action]) -> list[object]:
        out: list[object] = [b""]
        for action in some:
            if isinstance(action, Send):
                out[-1] = bytes(out[-1]) + action.data  # type: ignore[call-overload]
            else:
                out += [action, b""]
        return out

    joined = list(in_large_writes(todo))
    assert flat(joined) == flat(todo)
    assert Send(b"") not in joined


def test_a_step_without_an_action_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="no action for"):
        acted(Step())
