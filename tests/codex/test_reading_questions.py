"""Requests of Codex are read whatever they are: what cannot be is a question that is refused with its reason."""

import msgspec
import pytest
from msgspec import Raw

from codex_mcp.codex.reading import read_question, thread_of
from codex_mcp.wire.app.questions import ServerElicitation, UnreadableQuestion


def test_a_form_of_an_inner_server_keeps_all_its_fields() -> None:
    fields: dict[str, object] = {"threadId": "t", "mode": "form", "new": [1]}
    question = read_question(ServerElicitation.method, Raw(msgspec.json.encode(fields)))
    assert question == ServerElicitation("t", fields)
    assert read_question(ServerElicitation.method, Raw(b'{"threadId": 7}')) == ServerElicitation("", {"threadId": 7})


@pytest.mark.parametrize(
    ("method", "params", "why", "thread"),
    [
        (ServerElicitation.method, b"[]", "malformed", ""),
        ("item/commandExecution/requestApproval", b'{"threadId": "t", "turnId": 7}', "malformed", "t"),
        ("item/commandExecution/requestApproval", b'"\xff', "malformed", ""),
        ("item/new/ask", b'{"threadId": "t"}', "not a question that we know", "t"),
        ("item/new/ask", b"[]", "not a question that we know", ""),
    ],
)
def test_what_cannot_be_read_says_so_and_names_its_thread(method: str, params: bytes, why: str, thread: str) -> None:
    question = read_question(method, Raw(params))
    assert isinstance(question, UnreadableQuestion)
    assert (why in question.why, question.thread_id) == (True, thread)


def test_the_thread_of_what_names_none_is_unknown() -> None:
    assert (thread_of(Raw(b"{}")), thread_of(Raw(b'{"threadId": 1}'))) == ("", "")
