"""The answer to a request to shut down."""

import json

import pytest

from codex_mcp.mail.message import IdKind, Message
from codex_mcp.team.mail.shutdown_requests import approval


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"requestId": "1"}', "1"), ('{"request_id": "2"}', "2"), ("{}", None), ("[]", None), ("shut down", None)],
)
def test_it_names_the_request_if_that_has_an_id(text: str, expected: str | None) -> None:
    message = Message(id="m", id_kind=IdKind.ATM, sender="lead", text=text)
    assert json.loads(approval(message, "dev", 0.0)) == {
        "type": "shutdown_approved",
        "requestId": expected,
        "from": "dev",
        "timestamp": "1970-01-01T00:00:00.000Z",
    }
