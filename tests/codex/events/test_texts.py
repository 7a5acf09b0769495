"""What was said and thought."""

from codex_mcp.codex.events.texts import agent_message, agent_reasoning, input_part, user_message
from codex_mcp.wire.app.items import AgentMessage, Input, Reasoning, UserMessage


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
