"""What a tool has answered, in its texts and as data."""

import msgspec

from codex_mcp.control.answers import ToolAnswer


def test_texts_and_data_are_read_and_a_picture_has_no_text() -> None:
    told = b'{"content": [{"type": "text", "text": "a"}, {"type": "image"}], "structuredContent": {"x": 1}}'
    answer = msgspec.json.decode(told, type=ToolAnswer)
    assert (answer.texts, answer.data, answer.is_error) == (["a", ""], {"x": 1}, False)


def test_an_answer_that_is_none_yet_says_nothing() -> None:
    answer = msgspec.json.decode(b'{"resultType": "input_required"}', type=ToolAnswer)
    assert (answer.texts, answer.data, answer.is_error) == ([], {}, False)
    assert msgspec.json.decode(b'{"isError": true}', type=ToolAnswer).is_error
