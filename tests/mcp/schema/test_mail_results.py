"""Results of the tools for mail: whatever a message contains, it stays inside of its quotes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.address import Address
from codex_mcp.mail.message import IdKind, Message
from codex_mcp.mail.store_types import Delivered
from codex_mcp.mcp.schema import mail_results as results


@given(st.text(), st.text(min_size=1), st.none() | st.floats(0, 2e9))
def test_a_message_in_words_is_one_line_that_reads_back(text: str, sender: str, sent_at: float | None) -> None:
    message = Message(id="1", id_kind=IdKind.ATM, sender=sender, text=text, sent_at=sent_at)
    data = results.messages("arch", [message], 2)
    result = results.mail_result(data)
    words = results.in_words(data)
    assert words.isprintable()
    assert json.loads(words) == data == result.data
    assert data["remaining"] == 2


def test_a_broadcast_says_what_became_of_each() -> None:
    outcomes = [Delivered(Address("a", "t"), "id"), Delivered(Address("b", "t"), error="full")]
    assert results.broadcast("me", outcomes)["recipients"] == [
        {"to": "a@t", "message_id": "id", "error": None},
        {"to": "b@t", "message_id": None, "error": "full"},
    ]
    assert results.sent("me", outcomes[0]) == {"identity": "me", "to": "a@t", "message_id": "id"}
